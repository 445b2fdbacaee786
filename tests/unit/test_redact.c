#include "redact.h"

#include "policyfix.h"

#define OLD "S3cr3t-91"

static const struct {
    const char *label, *text, *want;
} line_cases[] = {
    { "a password", "password: S3cr3t", "password: ******" },
    { "in quotes, with what follows kept", "{password: \"S3 r3t\", x: 1}",
        "{password: *** ****, x: 1}" },
    { "bare in a flow map: all of the line", "{password: S3cr3t, x: 1}",
        "{password: ******* ** **" },
    { "where it is kept may be seen",
        "password: {file: /etc/kedge/secrets/cloud}",
        "password: {file: /etc/kedge/secrets/cloud}" },
    { "another kind of map may not", "password: {value: S3cr3t}",
        "password: ******* *******" },
    { "misspelt", "pasword: S3cr3t", "pasword: ******" },
    { "misspelt otherwise", "passwrod: S3cr3t", "passwrod: ******" },
    { "in large letters", "PASSWORD: S3cr3t", "PASSWORD: ******" },
    { "a token", "client_secret: S3cr3t", "client_secret: ******" },
    { "a key of an API", "{api_key: 'S3cr3t', x: 1}",
        "{api_key: ********, x: 1}" },
    { "a key that was pasted", "ssl.key.pem: S3cr3t", "ssl.key.pem: ******" },
    { "a header", "Authorization: Bearer S3cr3t",
        "Authorization: ****** ******" },
    { "of Java", "sasl.jaas.config=x S3cr3t;", "sasl.jaas.config=* *******" },
    { "a URL with a user", "proxy: http://u:S3cr3t@p.test:1/",
        "proxy: http://********@p.test:1/" },
    { "a URL with a slash in it", "proxy: http://u:S3c/S3cr3t@p.test:1/",
        "proxy: http://************@p.test:1/" },
    { "a token as the user", "proxy: http://S3cr3t@p.test:1/",
        "proxy: http://******@p.test:1/" },
    { "no scheme", "[u:S3cr3t@b1:1, b2:1]", "[********@b1:1, b2:1]" },
    { "a name with a domain", "username: edge@corp.test",
        "username: edge@corp.test" },
    { "a URL without one", "proxy: http://p.test:1/",
        "proxy: http://p.test:1/" },
    { "each line by itself", "password: a\nx: b\ntoken: c\n",
        "password: *\nx: b\ntoken: *\n" },
    { "no value", "password:\nx: b", "password:\nx: b" },
    { "on the line below", "password:\n  S3cr3t\nx: b",
        "password:\n  ******\nx: b" },
    { "in a map below", "password:\n  value: S3cr3t\n\n  x: S3cr3t\ny: b",
        "password:\n  ****** ******\n\n  ** ******\ny: b" },
    { "a map below whose key it is", "password:\n  S3cr3t:\ny: b",
        "password:\n  *******\ny: b" },
    { "a map whose key it is", "{password: {S3cr3t}, x: 1}",
        "{password: ********* ** **" },
    { "beside a place", "password: {file: /etc/x, S3cr3t: y}",
        "password: ****** ******* ******* **" },
    { "a map over several lines", "password: {\n    S3cr3t: y}\nx: b",
        "password: *\n    ******* **\nx: b" },
    { "a text over several lines", "password: |\n  S3cr3t\n\tx\ny: b",
        "password: *\n  ******\n\tx\ny: b" },
    { "in quotes over several lines", "password: 'a\n  S3cr3t'\ny: b",
        "password: **\n  *******\ny: b" },
    { "the last in its map", "sasl: {x: 'S3cr3t'}\n  y: b",
        "sasl: {*: ********}\n  *: *" },
    { "a user as the key", "{sasl: {edge: S3cr3t}}", "{sasl: {****: ********" },
    { "the same below", "sasl:\n  mechanism: PLAIN\n  edge: S3cr3t\nx: b",
        "sasl:\n  mechanism: PLAIN\n  ****: ******\nx: b" },
    { "a mechanism that is none", "sasl: {mechanism: Hunter, username: u}",
        "sasl: {mechanism: ******, username: u}" },
    { "a path for a mechanism", "sasl: {mechanism: /S3cr3t, username: u}",
        "sasl: {mechanism: *******, username: u}" },
    { "a mechanism with more behind it", "sasl: {mechanism: SCRAM-SHA-S3cr3t}",
        "sasl: {mechanism: ****************}" },
    { "a word behind a place", "sasl:\n  password: {file: /p} hunter",
        "sasl:\n  password: {file: /p} ******" },
    { "a word behind the map", "sasl: {mechanism: PLAIN} hunter # S3cr3t",
        "sasl: {mechanism: PLAIN} ****** * ******" },
    { "and behind a comma", "sasl: {mechanism: PLAIN}, hunter",
        "sasl: {mechanism: PLAIN}, ******" },
    { "a word behind the map in another",
        "{sasl: {mechanism: PLAIN} hunter, x: 1}",
        "{sasl: {mechanism: PLAIN} ******, x: 1}" },
    { "two on one line",
        "{a: {sasl: {mechanism: hunter}}, b: {sasl: {username: u, x}}, c: d}",
        "{a: {sasl: {mechanism: ******}}, b: {sasl: {username: u, *}}, c: d}" },
    { "keys in quotes", "{\"sasl\": {'mechanism': \"hunter\"}, x: 1}",
        "{\"sasl\": {'mechanism': \"******\"}, x: 1}" },
    { "blanks in front of the colon", "sasl : {mechanism : hunter}",
        "sasl : {mechanism : ******}" },
    { "a password of that kind", "'password' : S3cr3t", "'password' : ******" },
    { "the same below, in quotes", "\"sasl\" :\n  mechanism: hunter\nx: b",
        "\"sasl\" :\n  mechanism: ******\nx: b" },
    { "a map that goes on in front", "sasl: {\nmechanism: hunter,\n}\nx: b",
        "sasl: {\nmechanism: ******,\n}\nx: b" },
    { "a word that is none", "{sasl: {S3cr3t, PLAIN}, x: 1.2}",
        "{sasl: {******, PLAIN}, x: 1.2}" },
    { "users and mechanisms may be seen",
        "sasl: {mechanism: SCRAM-SHA-512, username: edge7}",
        "sasl: {mechanism: SCRAM-SHA-512, username: edge7}" },
    { "what follows it is not of it",
        "{sasl: {username: u, password: {file: /p}}, tls: {ca: /x}}",
        "{sasl: {username: u, password: {file: /p}}, tls: {ca: /x}}" },
    { "a key without its armour", "tls: {ca: /x, key: MIIEvS3cr3t/+=}",
        "tls: {ca: /x, key: ***************" },
    { "the same below", "key:\n  MIIES3cr3t\nx: b",
        "key:\n  **********\nx: b" },
    { "a file that is not named in full", "{key: tls/edge.key, x: 1}",
        "{key: tls/edge.key, x: 1}" },
    { "a file in quotes", "key: '/etc/x'", "key: '/etc/x'" },
    { "a place in a map below", "password:\n  file: /etc/x\ny: b",
        "password:\n  file: /etc/x\ny: b" },
    { "a login that is one word", "sasl: S3cr3t", "sasl: ******" },
    { "a login that is a list", "{sasl: [edge, S3cr3t]}",
        "{sasl: ****** ********" },
    { "a login that is a map", "sasl: {mechanism: PLAIN}",
        "sasl: {mechanism: PLAIN}" },
    { "a key pasted in", "key: \"-----BEGIN KEY-----S3cr3t\"\nx: b",
        "key: \"-----BEGIN ***************\n** *" },
    { "a key over several lines, with what follows kept",
        "key: |\n  -----BEGIN KEY-----\n  S3cr3t\n  -----END KEY-----\na: "
        "b",
        "key: *\n  ********** ********\n  ******\n  ******** ********\n"
        "a: b" },
    { "the first words of a key, and no more", "-----BEGIN", "-----BEGIN" },
    { "nothing secret", "acks: all", "acks: all" },
    { "not YAML at all", ":::\n{{password:S3cr3t", ":::\n{{password:******" },
    { "a quote that does not end", "password: \"S3cr3t", "password: *******" },
    { "nothing", "", "" },
};

static void
test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(line_cases); i++) {
        char text[160];

        (void)snprintf(text, sizeof text, "%s", line_cases[i].text);
        redact_source(text, strlen(text));
        if (strcmp(text, line_cases[i].want) != 0)
            fail_msg("%s: '%s'", line_cases[i].label, text);
        assert_int_equal(strlen(text), strlen(line_cases[i].text));
        assert_null(strstr(text, "S3cr3t"));
    }
}

/* What the checker prints for a policy with `place` in it, S3cr3t-91 being
 * `secret`. */
static void
expect_hidden(const char *place, const char *secret)
{
    char more[256];
    char *text = NULL, *out = NULL;
    size_t size = 0;
    struct findings *found = findings_new();
    FILE *file = open_memstream(&out, &size);

    (void)snprintf(more, sizeof more, "%sflows:\n", place);
    text = policyfix_change(policyfix_good, "flows:\n", more);
    while (strcmp(secret, OLD) != 0 && strstr(text, OLD) != NULL) {
        char *next = policyfix_change(text, OLD, secret);

        free(text);
        text = next;
    }
    assert_null(policy_parse(text, strlen(text), NOW_WALL_MS, found));
    policy_redact(text, strlen(text));
    findings_print(found, file, "policy.yaml", text, strlen(text));
    findings_print_json(found, file, "policy.yaml");
    (void)fclose(file);
    if (strstr(out, secret) != NULL)
        fail_msg("%s: %s", place, out);
    free(out);
    findings_free(found);
    free(text);
}

/* For a secret where none belongs. */
static void
test_nothing_of_it_is_printed(void **state)
{
    static const char *const places[] = {
        "    sasl: {mechanism: PLAIN, username: u, password: S3cr3t-91}\n",
        "    sasl: {mechanism: PLAIN, username: u, pasword: S3cr3t-91}\n",
        "    sasl: {mechanism: PLAIN, username: u, passwort: 'S3cr3t-91'}\n",
        "    sasl:\n      mechanism: PLAIN\n      username: u\n"
        "      password: S3cr3t-91\n",
        "    sasl: {mechanism: PLAIN, username: u,\n"
        "           password: {value: S3cr3t-91}}\n",
        "    sasl: {mechanism: PLAIN, username: u,\n"
        "           password: {file: [S3cr3t-91]}}\n",
        "    sasl: {mechanism: PLAIN, username: u,\n"
        "           password: {file: S3cr3t-91}}\n",
        "    sasl:\n      mechanism: PLAIN\n      username: u\n"
        "      password:\n        file: S3cr3t-91\n",
        "    sasl: {mechanism: PLAIN, username: u, password: {S3cr3t-91}}\n",
        "    sasl: {mechanism: PLAIN, username: u,\n"
        "           password: {S3cr3t-91: x, S3cr3t-91: y}}\n",
        "    sasl: {mechanism: PLAIN, username: u,\n"
        "           password: {file: /p, S3cr3t-91: y}}\n",
        "    sasl:\n      mechanism: PLAIN\n      username: u\n"
        "      password:\n        S3cr3t-91:\n",
        "    sasl:\n      mechanism: PLAIN\n      username: u\n"
        "      password: |\n        S3cr3t-91\n",
        "    sasl:\n      mechanism: PLAIN\n      username: u\n"
        "      password: {file:\n        S3cr3t-91}\n",
        "    sasl: {mechanism: S3cr3t-91, username: u,\n"
        "           password: {file: /p}}\n",
        "    sasl: {mechanism: PLAIN, username: u,\n"
        "           password: {file: /p} S3cr3t-91}\n",
        "    sasl: {mechanism: PLAIN, username: u,\n"
        "           password: {file: /p}} S3cr3t-91\n",
        "    sasl: {u: S3cr3t-91}\n",
        "    sasl: {S3cr3t-91}\n",
        "    sasl: {S3cr3t-91: x, S3cr3t-91: y}\n",
        "    sasl: {S3cr3t-91: u}\n",
        "    sasl:\n      S3cr3t-91\n",
        "    sasl:\n      S3cr3t-91:\n",
        "    sasl:\n      - S3cr3t-91\n",
        "    sasl: {file: S3cr3t-91}\n",
        "    sasl: {\n      S3cr3t-91}\n",
        "    sasl:\n      file: {S3cr3t-91: 1}\n",
        "    tls: {key: S3cr3t-91}\n",
        "    bootstrap2: sasl://u:S3cr3t-91@b1.test:9093\n",
        "    plaintext_networks: ['sasl://u:S3cr3t-91@b1.test:9093']\n",
        "    plaintext_networks: 'sasl://u:S3cr3t-91@b1.test:9093'\n",
        "    sasl: {mechanism: PLAIN, username: u, password: 'S3cr3t-91\n",
        "    plaintext_networks: ['u:S3cr3t-91@b1.test:9093']\n",
        "    plaintext_networks: ['sasl://u:S3c/S3cr3t-91@b1.test:9093']\n",
        "    egress: {proxy: 'http://u:S3cr3t-91@proxy.test:3128'}\n",
    };

    (void)state;
    for (size_t i = 0; i < N(places); i++) {
        expect_hidden(places[i], OLD);
        expect_hidden(places[i], "huntertoo"); /* a word like others */
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_nothing_of_it_is_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
