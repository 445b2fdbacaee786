#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "clock.h"
#include "kconf.h"
#include "kflow.h"
#include "kprops.h"
#include "log.h"
#include "propsfix.h"
#include "secret.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_MAX 64

/* What the client logs while it is made, on its own threads too. */
static pthread_mutex_t lines_lock = PTHREAD_MUTEX_INITIALIZER;
struct lines {
    size_t n;
    char text[LINES_MAX][256];
    char facility[LINES_MAX][32];
    enum log_level level[LINES_MAX];
};

static void
on_line(void *ctx, enum log_level level, const char *event,
    const struct kv *fields)
{
    struct lines *lines = ctx;

    assert_string_equal(event, "kafka.client");
    (void)pthread_mutex_lock(&lines_lock);
    if (lines->n < LINES_MAX)
        lines->level[lines->n] = level;
    for (; lines->n < LINES_MAX && fields->key != NULL; fields++) {
        if (strcmp(fields->key, "text") == 0)
            (void)snprintf(lines->text[lines->n], 256, "%s", fields->text);
        if (strcmp(fields->key, "facility") == 0)
            (void)snprintf(lines->facility[lines->n], 32, "%s", fields->text);
    }
    lines->n += lines->n < LINES_MAX;
    (void)pthread_mutex_unlock(&lines_lock);
}

static struct log *
log_to(struct lines *lines)
{
    struct err err;
    struct log *log = log_new(STDERR_FILENO, LEVEL_DEBUG, clock_system(), &err);

    assert_non_null(log);
    log_set_sink(log, on_line, lines);
    return log;
}

static struct kconf_options
options_of(enum kconf_client client, const struct kcluster *cluster)
{
    return (struct kconf_options){
        .client = client,
        .cluster = cluster,
        .agent = "host1",
        .flow = "telemetry",
        .group_id = "kedge.plant7.telemetry",
        .transactional_id = "kedge.plant7.telemetry.3",
        .compression = "zstd",
    };
}

static const struct kcluster plain = { .alias = "plant7",
    .bootstrap = "127.0.0.1:1" };

/* Each kind of client is made with every property of the table, in plaintext
 * and with all that protects a connection.  The library finds none of them
 * strange, and what it says of gapless is not passed on. */
static void
every_kind_of_client_takes_the_table(void **state)
{
    struct err err;
    struct secret *password = secret_from_bytes("secret", 6, &err);
    const struct kcluster full = { .alias = "cloud",
        .bootstrap = "127.0.0.1:1",
        .tls = true,
        .sasl_mechanism = "SCRAM-SHA-512",
        .sasl_username = "u",
        .sasl_password = password };

    (void)state;
    assert_non_null(password);
    for (int row = 0; row < 2 * KCONF_N; row++) {
        enum kconf_client client = (enum kconf_client)(row / 2);
        struct lines lines = { 0 };
        struct log *log = log_to(&lines);
        struct kconf_options options =
            options_of(client, row % 2 == 0 ? &plain : &full);
        rd_kafka_t *rk;

        print_message("%s\n", kconf_client_name(client));
        options.log = log;
        if ((rk = kconf_open(&options, &err)) == NULL)
            fail_msg("%s", err.text);
        assert_ptr_equal(strstr(rd_kafka_name(rk), "kedge-host1-telemetry"),
            rd_kafka_name(rk));
        kconf_close(rk);
        for (size_t i = 0; i < lines.n; i++)
            if (strcmp(lines.facility[i], "CONFWARN") == 0)
                fail_msg("%s", lines.text[i]);
        log_free(log);
    }
    secret_free(password);
}

static void
set_what_is_not_for_producers(rd_kafka_conf_t *conf)
{
    assert_int_equal(rd_kafka_conf_set(conf, "fetch.min.bytes", "7", NULL, 0),
        RD_KAFKA_CONF_OK);
}

/* One line about one property is noise; the next is not. */
static void
other_warnings_of_the_library_stay(void **state)
{
    struct lines lines = { 0 };
    struct log *log = log_to(&lines);
    struct kconf_options options = options_of(KCONF_DATA, &plain);
    struct err err;
    rd_kafka_t *rk;
    size_t n = 0;

    (void)state;
    options.log = log;
    options.configure = set_what_is_not_for_producers;
    assert_non_null(rk = kconf_open(&options, &err));
    kconf_close(rk);
    for (size_t i = 0; i < lines.n; i++) {
        if (strcmp(lines.facility[i], "CONFWARN") != 0)
            continue;
        assert_non_null(strstr(lines.text[i], "fetch.min.bytes"));
        assert_int_equal(lines.level[i], LEVEL_WARN);
        n++;
    }
    assert_int_equal(n, 1);
    log_free(log);
}

static const struct {
    const char *label;
    enum kconf_client client;
    const char *name, *want;
} settings[] = {
    { "nothing is committed by the library", KCONF_SOURCE, "enable.auto.commit",
        "false" },
    { "a lost position is an error", KCONF_SOURCE, "auto.offset.reset",
        "error" },
    { "checksums are checked", KCONF_SOURCE, "check.crcs", "true" },
    { "aborted records stay out", KCONF_SOURCE, "isolation.level",
        "read_committed" },
    { "prefetch has a default", KCONF_SOURCE, "queued.max.messages.kbytes",
        "65536" },
    { "no local time-out", KCONF_DATA, "message.timeout.ms", "0" },
    { "no gaps", KCONF_DATA, "enable.gapless.guarantee", "true" },
    { "acks of all", KCONF_DATA, "acks", "all" },
    { "acks of all for the ledger as well", KCONF_LANE, "acks", "all" },
    { "codec of the policy", KCONF_DATA, "compression.type", "zstd" },
    { "linger has a default", KCONF_DATA, "linger.ms", "25" },
    { "batches have a default", KCONF_DATA, "batch.size", "1000000" },
    { "the lane's name fences", KCONF_LANE, "transactional.id",
        "kedge.plant7.telemetry.3" },
    { "lanes that stay are not touched", KCONF_MEMBER,
        "partition.assignment.strategy", "cooperative-sticky" },
    { "plaintext has to be said", KCONF_ADMIN, "security.protocol",
        "plaintext" },
    { "not for consumers", KCONF_SOURCE, "acks", NULL },
    { "only lanes have transactions", KCONF_DATA, "transactional.id", NULL },
};

static const char *
value_in_table(enum kconf_client client, const char *name, char *buffer)
{
    const struct kconf_options options = options_of(client, &plain);

    return propsfix_value(&options, name, buffer);
}

static void
the_promises_are_in_the_table(void **state)
{
    char buffer[KPROPS_VALUE_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const char *got =
            value_in_table(settings[i].client, settings[i].name, buffer);

        print_message("%s\n", settings[i].label);
        if (settings[i].want == NULL)
            assert_null(got);
        else
            assert_string_equal(got, settings[i].want);
    }
}

static void
each_property_is_set_once_for_a_client(void **state)
{
    size_t n;
    const struct kprops *rows = kprops_rows(&n);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        assert_true(rows[i].clients != 0 && rows[i].why[0] != '\0');
        assert_int_equal(rows[i].from == KPROPS_FIXED, rows[i].fixed != NULL);
        for (size_t j = i + 1; j < n; j++)
            if (strcmp(rows[i].name, rows[j].name) == 0)
                assert_int_equal(rows[i].clients & rows[j].clients, 0);
    }
}

/* A key that is none: opening fails, and the text has nothing of it. */
static void
a_secret_is_in_no_error(void **state)
{
    static const char key[] =
        "-----BEGIN PRIVATE KEY-----\nHUSHHUSHHUSH\n-----END PRIVATE "
        "KEY-----\n";
    static const struct {
        const char *label;
        const char *mechanism, *bootstrap;
        bool tls;
        enum err_kind want;
    } cases[] = {
        { "a broken key", NULL, "127.0.0.1:1", true, ERR_CERT },
        { "an unknown mechanism", "HUSH", "127.0.0.1:1", true, ERR_CONFIG },
    };
    struct err err;
    struct secret *secret = secret_from_bytes(key, sizeof key - 1, &err);
    struct lines lines = { 0 };
    struct log *log = log_to(&lines);

    (void)state;
    assert_non_null(secret);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct kcluster cluster = { .alias = "cloud",
            .bootstrap = cases[i].bootstrap,
            .tls = cases[i].tls,
            .key_pem = secret,
            .sasl_mechanism = cases[i].mechanism,
            .sasl_username = "u",
            .sasl_password = secret };
        struct kconf_options options = options_of(KCONF_DATA, &cluster);

        print_message("%s\n", cases[i].label);
        options.log = log;
        assert_null(kconf_open(&options, &err));
        assert_int_equal(err.kind, cases[i].want);
        assert_non_null(strstr(err.text, "cluster cloud, data client"));
        assert_null(strstr(err.text, "HUSHHUSH"));
        for (size_t line = 0; line < lines.n; line++)
            assert_null(strstr(lines.text[line], "HUSHHUSH"));
    }
    log_free(log);
    secret_free(secret);
}

/* The list of the policy reaches the dialer of a plaintext client. */
static void
named_networks_are_taken_or_refused(void **state)
{
    static const struct {
        const char *label, *network;
        bool tls, want;
    } cases[] = {
        { "a network", "192.0.2.0/24", false, true },
        { "none", "192.0.2.0", false, false },
        { "with TLS nobody asks for it", "192.0.2.0", true, true },
    };
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct kcluster cluster = { .alias = "plant7",
            .bootstrap = "127.0.0.1:1",
            .tls = cases[i].tls,
            .plaintext_private_only = true,
            .plaintext_networks = &cases[i].network,
            .n_plaintext_networks = 1 };
        const struct kconf_options options = options_of(KCONF_ADMIN, &cluster);
        rd_kafka_t *rk = kconf_open(&options, &err);

        if ((rk != NULL) != cases[i].want)
            fail_msg("%s: %s", cases[i].label, err.text);
        if (rk == NULL)
            assert_non_null(strstr(err.text, "'192.0.2.0' is not a network"));
        kconf_close(rk);
    }
}

static const struct {
    const char *label;
    rd_kafka_resp_err_t code;
    const char *detail;
    enum err_kind kind;
    bool retry;
    const char *want;
} meanings[] = {
    { "a network that is away", RD_KAFKA_RESP_ERR__TRANSPORT,
        "connection refused", ERR_NET, true,
        "connection refused; it is "
        "tried again" },
    { "a password", RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, NULL,
        ERR_LOGIN, false, "password" },
    { "threads", RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, NULL, ERR_IO, true,
        "; this machine gives kedge too few threads, one for each broker and "
        "client: raise TasksMax= of the service, then restart it" },
    { "a certificate", RD_KAFKA_RESP_ERR__SSL, NULL, ERR_CERT, true,
        "certificates" },
    { "a permission", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, NULL,
        ERR_DENIED, false,
        "grant it to this client; 'kedge flow restart' then tries again" },
    { "a record too large", RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, NULL,
        ERR_KAFKA, false,
        "raise max.message.bytes of the target topic, and it goes on soon" },
    { "a position that is gone", RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE, NULL,
        ERR_KAFKA, false,
        "forward the topic, in the policy, by a flow of another name" },
    { "a damaged batch", RD_KAFKA_RESP_ERR__BAD_MSG, NULL, ERR_KAFKA, true,
        "look at its disk; 'kedge flow restart' then tries again" },
    { "a leader that moves", RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, NULL,
        ERR_KAFKA, true, "by itself" },
    { "a topic made anew", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_ID, NULL, ERR_KAFKA,
        true, "by itself" },
    { "the same, half heard of", (rd_kafka_resp_err_t)103, NULL, ERR_KAFKA,
        true, "by itself" },
    { "replicas that are away", RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, NULL,
        ERR_KAFKA, true, "brokers of the cluster are away" },
    { "a broker's verdict that is not known here",
        RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS, NULL, ERR_KAFKA, false,
        "logs" },
    { "the library's own trouble", RD_KAFKA_RESP_ERR__PURGE_QUEUE, NULL,
        ERR_KAFKA, true, "by itself" },
    { "a lane that is fenced", RD_KAFKA_RESP_ERR__FENCED, NULL, ERR_KAFKA, true,
        "fenced by a newer instance; a lane that is still this agent's is "
        "taken over again" },
    { "the same, as brokers say it", RD_KAFKA_RESP_ERR_PRODUCER_FENCED, NULL,
        ERR_KAFKA, true, "nobody has to act" },
    { "an epoch that is old", RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, NULL,
        ERR_KAFKA, true, "nobody has to act" },
    { "an empty detail is none", RD_KAFKA_RESP_ERR__TRANSPORT, "", ERR_NET,
        true, "transport failure" },
};

static void
errors_say_who_has_to_act(void **state)
{
    char detail[400];
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        print_message("%s\n", meanings[i].label);
        assert_false(kconf_err(&err, meanings[i].code, meanings[i].detail));
        assert_int_equal(err.kind, meanings[i].kind);
        assert_int_equal(err.retry, meanings[i].retry);
        if (strstr(err.text, meanings[i].want) == NULL)
            fail_msg("\"%s\" lacks \"%s\"", err.text, meanings[i].want);
    }
    /* a detail that fits is not cut, one that does not is cut at a word */
    memset(detail, 'w', sizeof detail);
    detail[120] = ' ';
    detail[170] = '\0';
    (void)kconf_err(&err, RD_KAFKA_RESP_ERR__TRANSPORT, detail);
    assert_memory_equal(err.text, detail, 170);
    assert_string_equal(err.text + 170,
        "; it is tried again; if it stays, look at the network and brokers");
    detail[170] = 'w';
    detail[250] = '\0';
    (void)kconf_err(&err, RD_KAFKA_RESP_ERR__TRANSPORT, detail);
    assert_memory_equal(err.text, detail, 120);
    assert_memory_equal(err.text + 120, " ...; it is tried again", 23);
    /* the advice survives a long detail */
    memset(detail, 'x', sizeof detail - 1);
    detail[sizeof detail - 1] = '\0';
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        (void)kconf_err(&err, meanings[i].code, detail);
        assert_in_range(strlen(err.text), 120, sizeof err.text - 1);
    }
    (void)kconf_err(&err, RD_KAFKA_RESP_ERR_INVALID_RECORD, detail);
    assert_non_null(strstr(err.text, "'kedge flow restart' then tries again"));
}

static void
an_error_object_is_taken(void **state)
{
    struct err err;

    (void)state;
    assert_false(kconf_err_take(&err,
        rd_kafka_error_new(RD_KAFKA_RESP_ERR__TIMED_OUT, "after %d s", 30)));
    assert_int_equal(err.kind, ERR_NET);
    assert_non_null(strstr(err.text, "after 30 s"));
}

/* A broker that refuses is dialled again by every client, and said once. */
static void
the_log_has_no_line_for_each_retry(void **state)
{
    struct lines lines = { 0 };
    struct kconf_options options = options_of(KCONF_ADMIN, &plain);
    struct err err;
    const struct rd_kafka_metadata *metadata;
    rd_kafka_t *rk;
    size_t n_fail = 0;

    (void)state;
    options.log = log_to(&lines);
    for (int i = 0; i < 2; i++) {
        assert_non_null(rk = kconf_open(&options, &err));
        (void)rd_kafka_metadata(rk, 0, NULL, &metadata, 1000);
        kconf_close(rk);
    }
    for (size_t i = 0; i < lines.n; i++)
        n_fail += strcmp(lines.facility[i], "FAIL") == 0;
    assert_int_equal(n_fail, 1);
    log_free(options.log);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_client_takes_the_table),
        cmocka_unit_test(other_warnings_of_the_library_stay),
        cmocka_unit_test(the_promises_are_in_the_table),
        cmocka_unit_test(each_property_is_set_once_for_a_client),
        cmocka_unit_test(named_networks_are_taken_or_refused),
        cmocka_unit_test(a_secret_is_in_no_error),
        cmocka_unit_test(errors_say_who_has_to_act),
        cmocka_unit_test(an_error_object_is_taken),
        cmocka_unit_test(the_log_has_no_line_for_each_retry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
