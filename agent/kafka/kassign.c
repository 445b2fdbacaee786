#include "kassign.h"
#include "kparts.h"

void
kassign_add(rd_kafka_topic_partition_list_t *list, const struct kparts *names,
    int32_t part, int64_t offset, int32_t leader_epoch)
{
    rd_kafka_topic_partition_t *entry = rd_kafka_topic_partition_list_add(list,
        rd_kafka_topic_name(kparts_topic(names, part)),
        kparts_partition(names, part));

    entry->offset = offset;
    if (leader_epoch >= 0)
        rd_kafka_topic_partition_set_leader_epoch(entry, leader_epoch);
}

rd_kafka_resp_err_t
kassign_apply(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *out,
    rd_kafka_topic_partition_list_t *in)
{
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_error_t *error = NULL;

    if (out->cnt > 0)
        error = rd_kafka_incremental_unassign(rk, out);
    if (error == NULL && in->cnt > 0)
        error = rd_kafka_incremental_assign(rk, in);
    if (error != NULL) {
        code = rd_kafka_error_code(error);
        rd_kafka_error_destroy(error);
    }
    return code;
}

int64_t
kassign_position(rd_kafka_t *rk, const struct kparts *names, int32_t part)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(1);
    int64_t offset;

    kassign_add(list, names, part, RD_KAFKA_OFFSET_INVALID, -1);
    (void)rd_kafka_position(rk, list);
    offset = list->elems[0].offset;
    rd_kafka_topic_partition_list_destroy(list);
    return offset;
}
