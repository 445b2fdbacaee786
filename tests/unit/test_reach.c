#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agentfix.h"
#include "kflow.h"
#include "policy.h"
#include "reach.h"
#include "secret.h"
#include "selfsigned.h"

#define NOW_WALL_MS INT64_C(1790000000000)
#define DAY_MS INT64_C(86400000)

/* A CA and a client certificate of it, as files. */
struct files {
    struct agentfix fix;
    char ca[80], cert[80], key[80], password[80], other[80];
};

static void
make_files(struct files *files)
{
    struct selfsigned_options options = { .kind = SELFSIGNED_CA,
        .common_name = "test CA",
        .from_wall_ms = NOW_WALL_MS - DAY_MS,
        .until_wall_ms = NOW_WALL_MS + DAY_MS };
    struct err err;
    struct selfsigned *ca = selfsigned_new(&options, &err);
    struct selfsigned *client;

    assert_non_null(ca);
    options.kind = SELFSIGNED_CLIENT;
    options.common_name = "edge1";
    options.issuer = ca;
    client = selfsigned_new(&options, &err);
    assert_non_null(client);
    agentfix_new(&files->fix);
    agentfix_file(&files->fix, "ca", selfsigned_cert_pem(ca), 0644, files->ca);
    agentfix_file(&files->fix, "cert", selfsigned_cert_pem(client), 0644,
        files->cert);
    agentfix_file(&files->fix, "key", secret_text(selfsigned_key_pem(client)),
        0600, files->key);
    agentfix_file(&files->fix, "password", "S3cr3t-canary-91\n", 0600,
        files->password);
    agentfix_file(&files->fix, "other", "S3cr3t-canary-92\n", 0600,
        files->other);
    selfsigned_free(client);
    selfsigned_free(ca);
}

static const char *brokers[] = { "b1.cloud.example:9093",
    "b2.cloud.example:9093" };
static const char *networks[] = { "192.0.2.0/24" };

static struct policy_cluster
full_cluster(const struct files *files)
{
    return (struct policy_cluster){
        .name = "cloud",
        .bootstrap = { .items = brokers, .n = 2 },
        .tls = { .on = true,
            .ca = files->ca,
            .cert = files->cert,
            .key = files->key,
            .min_version = "1.2" },
        .sasl = { .mechanism = "SCRAM-SHA-512",
            .username = "edge",
            .password_file = files->password },
    };
}

static void
test_everything(void **state)
{
    struct files files;
    struct policy_cluster cluster;
    const struct kcluster *made;
    struct reach *reach;
    struct err err;

    (void)state;
    make_files(&files);
    cluster = full_cluster(&files);
    reach = reach_load(&cluster, NOW_WALL_MS, &err);
    assert_non_null(reach);
    made = reach_cluster(reach);
    assert_string_equal(made->alias, "cloud");
    assert_string_equal(made->bootstrap,
        "b1.cloud.example:9093,b2.cloud.example:9093");
    assert_true(made->tls);
    assert_non_null(strstr(made->ca_pem, "BEGIN CERTIFICATE"));
    assert_non_null(strstr(made->cert_pem, "BEGIN CERTIFICATE"));
    assert_non_null(strstr(secret_text(made->key_pem), "PRIVATE KEY"));
    assert_string_equal(made->sasl_mechanism, "SCRAM-SHA-512");
    assert_string_equal(made->sasl_username, "edge");
    assert_string_equal(secret_text(made->sasl_password), "S3cr3t-canary-91");
    assert_true(made->plaintext_private_only);
    reach_free(reach);
    reach_free(NULL);
    agentfix_free(&files.fix);
}

static void
test_plaintext_reads_no_files(void **state)
{
    const struct policy_cluster cluster = {
        .name = "plant7",
        .bootstrap = { .items = brokers, .n = 1 },
        .tls = { .ca = "/nowhere", .min_version = "1.2" },
        .plaintext_networks = { .items = networks, .n = 1 },
    };
    struct err err;
    struct reach *reach = reach_load(&cluster, NOW_WALL_MS, &err);

    (void)state;
    assert_non_null(reach);
    assert_false(reach_cluster(reach)->tls);
    assert_null(reach_cluster(reach)->ca_pem);
    assert_null(reach_cluster(reach)->sasl_password);
    assert_int_equal(reach_cluster(reach)->n_plaintext_networks, 1);
    assert_string_equal(reach_cluster(reach)->plaintext_networks[0],
        "192.0.2.0/24");
    assert_string_equal(reach_cluster(reach)->bootstrap,
        "b1.cloud.example:9093");
    reach_free(reach);
}

typedef void change_fn(struct policy_cluster *cluster, struct files *files);

static void
no_ca(struct policy_cluster *cluster, struct files *files)
{
    (void)files;
    cluster->tls.ca = "/nowhere/ca.pem";
}

static void
ca_is_a_key(struct policy_cluster *cluster, struct files *files)
{
    cluster->tls.ca = files->key;
}

static void
open_key(struct policy_cluster *cluster, struct files *files)
{
    (void)cluster;
    assert_int_equal(chmod(files->key, 0644), 0);
}

static void
no_password(struct policy_cluster *cluster, struct files *files)
{
    (void)files;
    cluster->sasl.password_file = "/nowhere/password";
}

static void
open_password(struct policy_cluster *cluster, struct files *files)
{
    (void)cluster;
    assert_int_equal(chmod(files->password, 0644), 0);
}

static const struct {
    const char *label;
    change_fn *change;
    enum err_kind want;
} bad[] = {
    { "a CA file that is missing", no_ca, ERR_MISSING },
    { "a key in the place of the CA", ca_is_a_key, ERR_CERT },
    { "a key that others can read", open_key, ERR_CONFIG },
    { "a password that is missing", no_password, ERR_MISSING },
    { "a password that others can read", open_password, ERR_CONFIG },
};

static void
test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct files files;
        struct policy_cluster cluster;
        struct err err = { 0 };

        print_message("%s\n", bad[i].label);
        make_files(&files);
        cluster = full_cluster(&files);
        bad[i].change(&cluster, &files);
        assert_null(reach_load(&cluster, NOW_WALL_MS, &err));
        assert_int_equal(err.kind, bad[i].want);
        assert_memory_equal(err.text, "cluster cloud: ", 15);
        assert_null(strstr(err.text, "S3cr3t"));
        agentfix_free(&files.fix);
    }
}

static void
same(struct policy_cluster *cluster, struct files *files)
{
    (void)cluster;
    (void)files;
}

static void
fewer_brokers(struct policy_cluster *cluster, struct files *files)
{
    (void)files;
    cluster->bootstrap.n = 1;
}

static void
system_ca(struct policy_cluster *cluster, struct files *files)
{
    (void)files;
    cluster->tls.ca = NULL;
}

static void
other_user(struct policy_cluster *cluster, struct files *files)
{
    (void)files;
    cluster->sasl.username = "edge2";
}

static void
other_password(struct policy_cluster *cluster, struct files *files)
{
    cluster->sasl.password_file = files->other;
}

static void
password_in_another_file(struct policy_cluster *cluster, struct files *files)
{
    agentfix_file(&files->fix, "copy", "S3cr3t-canary-91", 0600, files->other);
    cluster->sasl.password_file = files->other;
}

static void
a_network(struct policy_cluster *cluster, struct files *files)
{
    (void)files;
    cluster->plaintext_networks =
        (struct policy_list){ .items = networks, .n = 1 };
}

static void
no_sasl(struct policy_cluster *cluster, struct files *files)
{
    (void)files;
    cluster->sasl = (struct policy_sasl){ 0 };
}

static const struct {
    const char *label;
    change_fn *change;
    bool want_same;
} signatures[] = {
    { "the same files", same, true },
    { "the same password elsewhere", password_in_another_file, true },
    { "fewer brokers", fewer_brokers, false },
    { "the system's CAs", system_ca, false },
    { "another user", other_user, false },
    { "another password", other_password, false },
    { "no password any more", no_sasl, false },
    { "a network more", a_network, false },
};

static void
test_signature(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++) {
        struct files files;
        struct policy_cluster cluster;
        struct reach *before, *after;
        struct err err;

        print_message("%s\n", signatures[i].label);
        make_files(&files);
        cluster = full_cluster(&files);
        before = reach_load(&cluster, NOW_WALL_MS, &err);
        assert_non_null(before);
        signatures[i].change(&cluster, &files);
        after = reach_load(&cluster, NOW_WALL_MS, &err);
        assert_non_null(after);
        assert_int_equal(reach_signature(before) == reach_signature(after),
            signatures[i].want_same);
        reach_free(before);
        reach_free(after);
        agentfix_free(&files.fix);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything),
        cmocka_unit_test(test_plaintext_reads_no_files),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_signature),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
