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

struct cluster {
    /* fixed */
    rd_kafka_t *client;
    rd_kafka_mock_cluster_t *mock;
    char *bootstrap;
    int brokers;
    uint16_t ports[CLUSTER_BROKERS_MAX];
    /* shared: the broker threads of clients that dial directly read it */
    atomic_uint advertised[CLUSTER_BROKERS_MAX];
};

/* "127.0.0.1:4711,127.0.0.1:4712" into ports. */
static bool
read_ports(struct cluster *cluster)
{
    const char *at = cluster->bootstrap;

    for (int i = 0; i < cluster->brokers; i++) {
        const char *colon = strchr(at, ':');
        char *end;
        unsigned long port;

        if (colon == NULL)
            return false;
        port = strtoul(colon + 1, &end, 10);
        if (port == 0 || port > UINT16_MAX || (*end != ',' && *end != '\0'))
            return false;
        cluster->ports[i] = (uint16_t)port;
        atomic_init(&cluster->advertised[i], (unsigned)port);
        at = end;
    }
    return true;
}

struct cluster *
cluster_new(int brokers, struct err *err)
{
    struct cluster *cluster = calloc(1, sizeof *cluster);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char why[200] = "no memory";
    bool ok = false;

    assert(brokers > 0 && brokers <= CLUSTER_BROKERS_MAX);
    if (cluster == NULL)
        goto out;
    cluster->brokers = brokers;
    rd_kafka_conf_set_log_cb(conf, NULL);
    cluster->client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    if (cluster->client == NULL)
        goto out;
    conf = NULL; /* the client has it */
    cluster->mock = rd_kafka_mock_cluster_new(cluster->client, brokers);
    if (cluster->mock == NULL) {
        (void)strcpy(why, "no ports to listen on");
        goto out;
    }
    rd_kafka_mock_group_initial_rebalance_delay_ms(cluster->mock, 0);
    cluster->bootstrap =
        strdup(rd_kafka_mock_cluster_bootstraps(cluster->mock));
    ok = cluster->bootstrap != NULL && read_ports(cluster);
out:
    if (conf != NULL)
        rd_kafka_conf_destroy(conf);
    if (!ok) {
        err_set(err, ERR_KAFKA, "embedded cluster: %s", why);
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
    free(cluster->bootstrap);
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
    rd_kafka_mock_broker_set_host_port(cluster->mock, i + 1, "127.0.0.1", port);
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
