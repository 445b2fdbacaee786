#include "stage.h"

#include "child.h"
#include "clock.h"
#include "cluster.h"
#include "file.h"
#include "load.h"
#include "secret.h"
#include "selfsigned.h"
#include "tlsend.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLANT_BROKERS 2
#define CLOUD_BROKERS 3
#define LANES 8
#define DAY_MS INT64_C(86400000)

static const char *const file_names[] = { "policy.yaml", "agent.log",
    "admin.sock", "cloud-ca.pem", "edge.pem", "edge.key" };

static bool
make_folder(struct stage *stage, struct err *err)
{
    const char *base = getenv("TMPDIR");

    if (base == NULL || *base != '/' || strlen(base) > 60)
        base = "/tmp"; /* the admin socket's path has to be short */
    (void)snprintf(stage->folder, sizeof stage->folder, "%s/kedge-demo-XXXXXX",
        base);
    if (mkdtemp(stage->folder) == NULL) {
        err_sys(err, ERR_IO, "%s", stage->folder);
        *stage->folder = '\0';
        return false;
    }
    (void)snprintf(stage->policy, sizeof stage->policy, "%s/policy.yaml",
        stage->folder);
    (void)snprintf(stage->log, sizeof stage->log, "%s/agent.log",
        stage->folder);
    (void)snprintf(stage->socket, sizeof stage->socket, "%s/admin.sock",
        stage->folder);
    return true;
}

static bool
make_topics(struct stage *stage, struct err *err)
{
    char name[128];

    for (int i = 0; i < LOAD_TOPICS; i++) {
        int partitions = load_topic_partitions(i);

        (void)snprintf(name, sizeof name, STAGE_PREFIX "%s",
            load_topic_name(i));
        if (!cluster_topic(stage->plant, load_topic_name(i), partitions, err) ||
            !cluster_topic(stage->cloud, name, partitions, err))
            return false;
    }
    return cluster_topic(stage->cloud,
        "kedge." STAGE_PREFIX STAGE_FLOW ".ledger", LANES, err);
}

static bool
make_clusters(struct stage *stage, struct err *err)
{
    stage->plant = cluster_new(PLANT_BROKERS, err);
    if (stage->plant == NULL)
        return false;
    stage->cloud = cluster_new(CLOUD_BROKERS, err);
    return stage->cloud != NULL && make_topics(stage, err);
}

static struct selfsigned *
make_certificate(enum selfsigned_kind kind, const char *name,
    const struct selfsigned *ca, struct err *err)
{
    int64_t now = clock_wall_ms(clock_system());
    const struct selfsigned_options options = {
        .kind = kind,
        .common_name = name,
        .names =
            kind == SELFSIGNED_SERVER ? "DNS:localhost,IP:127.0.0.1" : NULL,
        .from_wall_ms = now - DAY_MS,
        .until_wall_ms = now + DAY_MS,
        .issuer = ca,
    };

    return selfsigned_new(&options, err);
}

static bool
write_certificates(const struct stage *stage, struct err *err)
{
    const struct secret *key = selfsigned_key_pem(stage->client);
    const char *ca = selfsigned_cert_pem(stage->ca);
    const char *cert = selfsigned_cert_pem(stage->client);
    int dir = open(stage->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok;

    if (dir == -1)
        return err_sys(err, ERR_IO, "%s", stage->folder);
    ok = file_replace(dir, "cloud-ca.pem", ca, strlen(ca), err) &&
         file_replace(dir, "edge.pem", cert, strlen(cert), err) &&
         file_replace(dir, "edge.key", secret_text(key), secret_len(key), err);
    close(dir);
    return ok;
}

static bool
make_certificates(struct stage *stage, struct err *err)
{
    stage->ca = make_certificate(SELFSIGNED_CA, "kedge demo CA", NULL, err);
    if (stage->ca == NULL)
        return false;
    stage->server =
        make_certificate(SELFSIGNED_SERVER, "kedge demo cloud", stage->ca, err);
    if (stage->server == NULL)
        return false;
    stage->client =
        make_certificate(SELFSIGNED_CLIENT, "kedge demo edge", stage->ca, err);
    return stage->client != NULL && write_certificates(stage, err);
}

static bool
make_tlsend(struct stage *stage, struct err *err)
{
    struct tlsend_options options = {
        .cert_pem = selfsigned_cert_pem(stage->server),
        .key_pem = selfsigned_key_pem(stage->server),
        .client_ca_pem = selfsigned_cert_pem(stage->ca),
        .n_targets = CLOUD_BROKERS,
    };

    for (int i = 0; i < CLOUD_BROKERS; i++)
        options.targets[i] = cluster_port(stage->cloud, i);
    stage->tlsend = tlsend_start(&options, err);
    if (stage->tlsend == NULL)
        return false;
    for (int i = 0; i < CLOUD_BROKERS; i++)
        cluster_advertise(stage->cloud, i,
            tlsend_port(stage->tlsend, (size_t)i));
    return true;
}

static void
print_ports(const struct stage *stage, bool cloud, FILE *out)
{
    int n = cluster_brokers(cloud ? stage->cloud : stage->plant);

    for (int i = 0; i < n; i++)
        (void)fprintf(out, "%s\"127.0.0.1:%u\"", i == 0 ? "" : ", ",
            (unsigned)(cloud ? tlsend_port(stage->tlsend, (size_t)i)
                             : cluster_port(stage->plant, i)));
}

static void
print_policy(const struct stage *stage, FILE *out)
{
    (void)fprintf(out, "version: 1\n"
                       "agent:\n"
                       "  site: plant\n"
                       "placement:\n"
                       "  because: firewall\n"
                       "  outage_budget: 72h\n"
                       "clusters:\n"
                       "  plant:\n"
                       "    site: plant\n"
                       "    bootstrap: [");
    print_ports(stage, false, out);
    (void)fprintf(out, "]\n"
                       "    tls: off\n"
                       "  cloud:\n"
                       "    site: cloud\n"
                       "    bootstrap: [");
    print_ports(stage, true, out);
    (void)fprintf(out,
        "]\n"
        "    tls:\n"
        "      ca: %s/cloud-ca.pem\n"
        "      cert: %s/edge.pem\n"
        "      key: %s/edge.key\n"
        "      min_version: \"1.2\"\n"
        "flows:\n"
        "  " STAGE_FLOW ":\n"
        "    from: plant\n"
        "    to: cloud\n"
        "    topics:\n"
        "      include: ['telemetry\\..*', orders, alarms, events]\n"
        "      start: earliest\n"
        "    producer:\n"
        "      acks: all\n"
        "      retries: unlimited\n"
        "      compression.type: zstd\n"
        "    errors.tolerance: none\n"
        "admin:\n"
        "  socket: %s\n",
        stage->folder, stage->folder, stage->folder, stage->socket);
}

static bool
make_policy(struct stage *stage, struct err *err)
{
    size_t len = 0;
    FILE *out = open_memstream(&stage->policy_text, &len);
    int dir;
    bool ok;

    if (out == NULL)
        return err_set(err, ERR_MEMORY, "policy");
    print_policy(stage, out);
    if (fclose(out) != 0)
        return err_set(err, ERR_MEMORY, "policy");
    dir = open(stage->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir == -1)
        return err_sys(err, ERR_IO, "%s", stage->folder);
    ok = file_replace(dir, "policy.yaml", stage->policy_text, len, err);
    close(dir);
    return ok;
}

struct stage *
stage_open(struct err *err)
{
    struct stage *stage = calloc(1, sizeof *stage);

    if (stage == NULL) {
        err_set(err, ERR_MEMORY, "demo");
        return NULL;
    }
    if (!make_folder(stage, err) || !make_clusters(stage, err) ||
        !make_certificates(stage, err) || !make_tlsend(stage, err) ||
        !make_policy(stage, err)) {
        stage_close(stage, false);
        return NULL;
    }
    return stage;
}

static void
remove_folder(const struct stage *stage)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof file_names / sizeof file_names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", stage->folder,
            file_names[i]);
        (void)unlink(path);
    }
    (void)rmdir(stage->folder);
}

void
stage_close(struct stage *stage, bool keep)
{
    if (stage == NULL)
        return;
    child_free(stage->agent);
    tlsend_stop(stage->tlsend);
    selfsigned_free(stage->client);
    selfsigned_free(stage->server);
    selfsigned_free(stage->ca);
    cluster_free(stage->cloud);
    cluster_free(stage->plant);
    free(stage->policy_text);
    if (!keep && *stage->folder != '\0')
        remove_folder(stage);
    free(stage);
}

bool
stage_start_agent(struct stage *stage, const char *program, struct err *err)
{
    char name[] = "kedge", command[] = "run";
    char *const argv[] = { name, command, stage->policy, NULL };

    stage->agent = child_start(program, argv, stage->log, err);
    return stage->agent != NULL;
}
