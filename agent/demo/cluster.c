#include "cluster.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ASK_MS 10000

struct cluster {
    /* fixed */
    rd_kafka_t *client;
    rd_kafka_mock_cluster_t *mock;
    char bootstrap[CLUSTER_BROKERS_MAX * 24];
    int brokers;
    uint16_t ports[CLUSTER_BROKERS_MAX];
    /* shared: the broker threads of clients that dial directly read it */
    atomic_uint advertised[CLUSTER_BROKERS_MAX];
};

/* The mock says that its controller is broker 0, and makes none of that
 * number: every admin request would wait for it.  So the first broker is made
 * here, and a client asked where it listens. */
static bool
make_brokers(struct cluster *cluster, struct err *err)
{
    const struct rd_kafka_metadata *found = NULL;
    rd_kafka_resp_err_t failed;
    int n = 0;

    cluster->mock =
        rd_kafka_mock_cluster_new(cluster->client, cluster->brokers - 1);
    if (cluster->mock == NULL)
        return err_set(err, ERR_KAFKA, "no ports to listen on");
    failed = rd_kafka_mock_broker_add(cluster->mock, 0);
    if (!failed) {
        (void)rd_kafka_brokers_add(cluster->client,
            rd_kafka_mock_cluster_bootstraps(cluster->mock));
        failed = rd_kafka_metadata(cluster->client, 0, NULL, &found, ASK_MS);
    }
    if (failed)
        return err_set(err, ERR_KAFKA, "%s", rd_kafka_err2str(failed));
    for (int i = 0; i < found->broker_cnt; i++) {
        int32_t id = found->brokers[i].id;

        if (id < 0 || id >= cluster->brokers)
            continue;
        cluster->ports[id] = (uint16_t)found->brokers[i].port;
        atomic_init(&cluster->advertised[id], (unsigned)cluster->ports[id]);
        n++;
    }
    rd_kafka_metadata_destroy(found);
    return n == cluster->brokers ||
           err_set(err, ERR_KAFKA, "%d brokers of %d", n, cluster->brokers);
}

static bool
write_bootstrap(struct cluster *cluster, struct err *err)
{
    int used = 0;

    for (int i = 0; i < cluster->brokers; i++)
        used += snprintf(cluster->bootstrap + used,
            sizeof cluster->bootstrap - (size_t)used, "%s127.0.0.1:%u",
            i == 0 ? "" : ",", (unsigned)cluster->ports[i]);
    return used < (int)sizeof cluster->bootstrap ||
           err_set(err, ERR_KAFKA, "too many brokers");
}

struct cluster *
cluster_new(int brokers, struct err *err)
{
    struct cluster *cluster = calloc(1, sizeof *cluster);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char why[200];
    bool ok = false;

    assert(brokers >= 2 && brokers <= CLUSTER_BROKERS_MAX);
    if (cluster == NULL) {
        err_set(err, ERR_MEMORY, "no memory");
        goto out;
    }
    cluster->brokers = brokers;
    rd_kafka_conf_set_log_cb(conf, NULL);
    cluster->client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    if (cluster->client == NULL) {
        err_set(err, ERR_KAFKA, "%s", why);
        goto out;
    }
    conf = NULL; /* the client has it */
    if (!make_brokers(cluster, err) || !write_bootstrap(cluster, err))
        goto out;
    rd_kafka_mock_group_initial_rebalance_delay_ms(cluster->mock, 0);
    ok = true;
out:
    if (conf != NULL)
        rd_kafka_conf_destroy(conf);
    if (!ok) {
        err_wrap(err, "embedded cluster");
        cluster_free(cluster);
        cluster = NULL;
    }
    return cluster;
}

void
cluster_free(struct cluster *cluster)
{
    if (cluster == NULL)
        return;
    if (cluster->mock != NULL)
        rd_kafka_mock_cluster_destroy(cluster->mock);
    if (cluster->client != NULL)
        rd_kafka_destroy(cluster->client);
    free(cluster);
}

int
cluster_brokers(const struct cluster *cluster)
{
    return cluster->brokers;
}

uint16_t
cluster_port(const struct cluster *cluster, int i)
{
    assert(i >= 0 && i < cluster->brokers);
    return cluster->ports[i];
}

const char *
cluster_bootstrap(const struct cluster *cluster)
{
    return cluster->bootstrap;
}

bool
cluster_topic(struct cluster *cluster, const char *name, int partitions,
    struct err *err)
{
    rd_kafka_resp_err_t failed = rd_kafka_mock_topic_create(cluster->mock, name,
        partitions, cluster->brokers);

    if (failed)
        return err_set(err, ERR_KAFKA, "embedded cluster: topic %s: %s", name,
            rd_kafka_err2str(failed));
    return true;
}

void
cluster_advertise(struct cluster *cluster, int i, uint16_t port)
{
    assert(i >= 0 && i < cluster->brokers);
    atomic_store(&cluster->advertised[i], port);
    rd_kafka_mock_broker_set_host_port(cluster->mock, i, "127.0.0.1", port);
}

/* On a broker's thread of the client.  An advertised port becomes the real
 * one; any other stays. */
static int
dial(int fd, const struct sockaddr *to, int len, const char *id, void *ctx)
{
    const struct cluster *cluster = ctx;
    struct sockaddr_in in;

    (void)id;
    if (to->sa_family != AF_INET || (size_t)len < sizeof in)
        return EAFNOSUPPORT;
    memcpy(&in, to, sizeof in);
    for (int i = 0; i < cluster->brokers; i++)
        if (ntohs(in.sin_port) == atomic_load(&cluster->advertised[i]))
            in.sin_port = htons(cluster->ports[i]);
    if (connect(fd, (const struct sockaddr *)&in, sizeof in) == -1)
        return errno == EINPROGRESS ? 0 : errno;
    return 0;
}

void
cluster_dial_directly(const struct cluster *cluster,
    struct rd_kafka_conf_s *conf)
{
    union {
        const struct cluster *in;
        void *out;
    } ctx = { .in = cluster }; /* the callback only reads it */

    rd_kafka_conf_set_opaque(conf, ctx.out);
    rd_kafka_conf_set_connect_cb(conf, dial);
}
