#include "kflow.h"
#include "kledger.h"
#include "kmember.h"
#include "ksink.h"
#include "ksource.h"
#include "ktopics.h"
#include "kworker.h"

#include <librdkafka/rdkafka.h>
#include <string.h>

#define FLOOR 0x020a01ff /* 2.10.1 */
#define FLOOR_TEXT "2.10.1"

static bool
open_source(struct kflow *kflow, const struct kflow_options *options,
    struct err *err)
{
    const struct ksource_options source = {
        .cluster = options->source,
        .agent = options->agent,
        .flow = options->flow,
        .group_id = options->group_id,
        .prefetch_bytes = options->prefetch_bytes,
        .far = options->source_far,
        .wake = options->wake,
        .log = options->log,
        .metrics = options->metrics,
    };

    return ksource_open(&kflow->source, &source, err);
}

static bool
open_sink(struct kflow *kflow, const struct kflow_options *options,
    struct err *err)
{
    const struct ksink_options sink = {
        .cluster = options->target,
        .agent = options->agent,
        .flow = options->flow,
        .compression = options->compression,
        .linger_ms = options->linger_ms,
        .done = options->done,
        .failed = options->failed,
        .ctx = options->sink_ctx,
        .wake = options->wake,
        .log = options->log,
        .watch = options->watch,
    };

    return ksink_open(&kflow->sink, &sink, err);
}

static bool
open_group(struct kflow *kflow, const struct kflow_options *options,
    struct err *err)
{
    const struct kmember_options member = {
        .target = options->target,
        .agent = options->agent,
        .flow = options->flow,
        .topic = options->ledger_topic,
        .group_id = options->group_id,
        .wake = options->wake,
        .log = options->log,
        .watch = options->watch,
    };

    return kmember_open(&kflow->group, &member, err);
}

static bool
open_store(struct kflow *kflow, const struct kflow_options *options,
    struct err *err)
{
    const struct kledger_options ledger = {
        .target = options->target,
        .agent = options->agent,
        .flow = options->flow,
        .topic = options->ledger_topic,
        .group_id = options->group_id,
        .wake = options->wake,
        .log = options->log,
        .watch = options->watch,
    };

    return kledger_open(&kflow->store, &ledger, err);
}

static bool
open_catalog(struct kflow *kflow, const struct kflow_options *options,
    struct err *err)
{
    const struct ktopics_options topics = {
        .source = options->source,
        .target = options->target,
        .agent = options->agent,
        .flow = options->flow,
        .replication_factor = options->replication_factor,
        .create_topics = options->create_topics,
        .wake = options->wake,
        .log = options->log,
        .watch = options->watch,
    };

    return ktopics_open(&kflow->catalog, &topics, err);
}

struct kwatch *
kflow_watch_new(kflow_tired_fn *tired, void *ctx, struct err *err)
{
    return kworker_watch_new(tired, ctx, err);
}

void
kflow_watch_drop(struct kwatch *watch)
{
    kworker_watch_drop(watch);
}

bool
kflow_watch_leaked(struct kwatch *watch)
{
    return kworker_watch_leaked(watch);
}

bool
kflow_open(struct kflow *kflow, const struct kflow_options *options,
    struct err *err)
{
    bool ok;

    memset(kflow, 0, sizeof *kflow);
    ok = kflow_library_check(err) && open_source(kflow, options, err) &&
         open_sink(kflow, options, err) && open_group(kflow, options, err) &&
         open_store(kflow, options, err) && open_catalog(kflow, options, err);
    if (!ok)
        kflow_close(kflow);
    return ok;
}

/* The sink may hold records of the source, so it ends first. */
void
kflow_close(struct kflow *kflow)
{
    if (kflow->catalog.ops != NULL)
        kflow->catalog.ops->free(kflow->catalog.self);
    if (kflow->store.ops != NULL)
        kflow->store.ops->free(kflow->store.self);
    if (kflow->group.ops != NULL)
        kflow->group.ops->free(kflow->group.self);
    if (kflow->sink.ops != NULL)
        (void)kflow->sink.ops->free(kflow->sink.self); /* nothing was sent */
    if (kflow->source.ops != NULL)
        kflow->source.ops->free(kflow->source.self);
    memset(kflow, 0, sizeof *kflow);
}

const char *
kflow_library_version(void)
{
    return rd_kafka_version_str();
}

/* The build says so (installers/librdkafka.cmake): the library itself bears no
 * mark that could be asked for. */
bool
kflow_library_patched(void)
{
#ifdef KEDGE_RDKAFKA_PATCHED
    return true;
#else
    return false;
#endif
}

bool
kflow_library_check(struct err *err)
{
    if (rd_kafka_version() >= FLOOR)
        return true;
    return err_set(err, ERR_CONFIG,
        "librdkafka %s is in use and " FLOOR_TEXT " is the oldest that keeps "
        "what kedge promises: install a newer one",
        rd_kafka_version_str());
}
