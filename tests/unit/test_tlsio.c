#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "certfix.h"
#include "clock.h"
#include "tlsio.h"

#include <signal.h>
#include <sys/socket.h>

/* Handshakes look at this machine's clock, so the PKI does as well. */
struct pki {
    struct selfsigned *root, *other, *server, *client, *stranger;
};

static struct selfsigned *
make(enum selfsigned_kind kind, const char *name, const struct selfsigned *by)
{
    int64_t now = clock_wall_ms(clock_system());
    const struct selfsigned_options options = {
        .kind = kind,
        .common_name = name,
        .names =
            kind == SELFSIGNED_SERVER ? "DNS:localhost,IP:127.0.0.1" : NULL,
        .from_wall_ms = now - CERTFIX_DAY,
        .until_wall_ms = now + CERTFIX_DAY,
        .issuer = by,
    };
    struct err err;
    struct selfsigned *made = selfsigned_new(&options, &err);

    assert_non_null(made);
    return made;
}

static int
setup(void **state)
{
    struct pki *pki = calloc(1, sizeof *pki);

    assert_non_null(pki);
    assert_ptr_not_equal(signal(SIGPIPE, SIG_IGN), SIG_ERR);
    pki->root = make(SELFSIGNED_CA, "root", NULL);
    pki->other = make(SELFSIGNED_CA, "other root", NULL);
    pki->server = make(SELFSIGNED_SERVER, "server", pki->root);
    pki->client = make(SELFSIGNED_CLIENT, "client", pki->root);
    pki->stranger = make(SELFSIGNED_CLIENT, "stranger", pki->other);
    *state = pki;
    return 0;
}

static int
teardown(void **state)
{
    struct pki *pki = *state;

    selfsigned_free(pki->root);
    selfsigned_free(pki->other);
    selfsigned_free(pki->server);
    selfsigned_free(pki->client);
    selfsigned_free(pki->stranger);
    free(pki);
    return 0;
}

/* Two sessions at the ends of one socket pair. */
struct link {
    struct tlsio_side *sides[2]; /* client, server */
    struct tlsio *ends[2];
    int fds[2];
};

static struct tlsio_side *
side_new(bool server, const char *ca, const struct selfsigned *own)
{
    const struct tlsio_options options = {
        .server = server,
        .ca_pem = ca,
        .cert_pem = own == NULL ? NULL : selfsigned_cert_pem(own),
        .key_pem = own == NULL ? NULL : selfsigned_key_pem(own),
    };
    struct err err;
    struct tlsio_side *side = tlsio_side_new(&options, &err);

    if (side == NULL)
        fail_msg("%s", err.text);
    return side;
}

static void
link_open(struct link *link, const char *name)
{
    struct err err;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
                         link->fds),
        0);
    for (int i = 0; i < 2; i++) {
        link->ends[i] =
            tlsio_new(link->sides[i], link->fds[i], i == 0 ? name : NULL, &err);
        assert_non_null(link->ends[i]);
    }
}

static void
link_close(struct link *link)
{
    for (int i = 0; i < 2; i++) {
        tlsio_free(link->ends[i]);
        tlsio_side_free(link->sides[i]);
        if (link->fds[i] != -1)
            assert_int_equal(close(link->fds[i]), 0);
    }
}

/* Both ends in turn, until both are through or one has failed: then its
 * number is in *who. */
static bool
shake(struct link *link, int *who, struct err *err)
{
    bool done[2] = { false, false };

    for (int turn = 0; turn < 64 && !(done[0] && done[1]); turn++) {
        enum tlsio_state state;

        *who = turn % 2;
        if (done[*who])
            continue;
        state = tlsio_handshake(link->ends[*who], err);
        if (state == TLSIO_FAILED)
            return false;
        done[*who] = state == TLSIO_OK;
    }
    return done[0] && done[1];
}

enum own { NOBODY, CLIENT, STRANGER };

static const struct {
    const char *label, *name;
    bool other_ca, wants_client;
    enum own own;
    int want_who; /* who fails first: 0 the client, 1 the server; -1: nobody */
    enum err_kind want_kind;
    const char *want;
} handshakes[] = {
    { "by name", "localhost", false, false, NOBODY, -1, ERR_NONE, "" },
    { "by address", "127.0.0.1", false, false, NOBODY, -1, ERR_NONE, "" },
    { "with a certificate nobody asks for", "localhost", false, false, CLIENT,
        -1, ERR_NONE, "" },
    { "with the certificate that is asked for", "localhost", false, true,
        CLIENT, -1, ERR_NONE, "" },
    { "for another name", "kafka.example", false, false, NOBODY, 0, ERR_CERT,
        "ostname mismatch" },
    { "for another address", "127.0.0.2", false, false, NOBODY, 0, ERR_CERT,
        "IP address mismatch" },
    { "by a CA that is not ours", "localhost", true, false, NOBODY, 0, ERR_CERT,
        "unable to get local issuer certificate" },
    { "without the certificate that is asked for", "localhost", false, true,
        NOBODY, 1, ERR_NET, "peer did not return a certificate" },
    { "with a certificate of somebody else", "localhost", false, true, STRANGER,
        1, ERR_CERT, "unable to get local issuer certificate" },
};

static void
test_handshakes(void **state)
{
    const struct pki *pki = *state;
    const char *root = selfsigned_cert_pem(pki->root);
    const char *other = selfsigned_cert_pem(pki->other);
    const struct selfsigned *own[] = { NULL, pki->client, pki->stranger };

    for (size_t i = 0; i < sizeof handshakes / sizeof handshakes[0]; i++) {
        struct err err = { 0 };
        struct link link = {
            .sides = {
                side_new(false, handshakes[i].other_ca ? other : root,
                    own[handshakes[i].own]),
                side_new(true, handshakes[i].wants_client ? root : NULL,
                    pki->server),
            },
        };
        int who = -1;
        bool ok;

        link_open(&link, handshakes[i].name);
        ok = shake(&link, &who, &err);
        if (ok != (handshakes[i].want_who == -1) ||
            (!ok && (who != handshakes[i].want_who ||
                        err.kind != handshakes[i].want_kind ||
                        strstr(err.text, handshakes[i].want) == NULL)))
            fail_msg("%s: end %d, %s", handshakes[i].label, who, err.text);
        if (ok)
            assert_string_equal(tlsio_version(link.ends[0]), "TLSv1.3");
        link_close(&link);
    }
}

/* A link whose handshake is done. */
static void
link_ready(struct link *link, const struct pki *pki)
{
    struct err err;
    int who;

    *link = (struct link){
        .sides = { side_new(false, selfsigned_cert_pem(pki->root), NULL),
            side_new(true, NULL, pki->server) },
    };
    link_open(link, "localhost");
    assert_true(shake(link, &who, &err));
}

static unsigned char
byte_at(size_t i)
{
    return (unsigned char)(i * 31 + i / 251);
}

/* What end `from` sends arrives at the other as it was, through a socket that
 * is full again and again. */
static void
carry(struct link *link, int from, size_t len)
{
    unsigned char *bytes = malloc(len);
    size_t sent = 0, got = 0;
    struct err err;

    assert_non_null(bytes);
    for (size_t i = 0; i < len; i++)
        bytes[i] = byte_at(i);
    while (got < len) {
        unsigned char part[1000];
        enum tlsio_state state = TLSIO_OK;
        size_t n;

        while (sent < len && state == TLSIO_OK) {
            state = tlsio_write(link->ends[from], bytes + sent, len - sent, &n,
                &err);
            assert_int_not_equal(state, TLSIO_FAILED);
            sent += n;
        }
        do {
            state =
                tlsio_read(link->ends[1 - from], part, sizeof part, &n, &err);
            assert_int_not_equal(state, TLSIO_FAILED);
            for (size_t i = 0; i < n; i++, got++)
                assert_int_equal(part[i], byte_at(got));
        } while (state == TLSIO_OK);
        assert_int_equal(state, TLSIO_WANT_READ);
        assert_false(tlsio_pending(link->ends[1 - from]));
    }
    assert_int_equal(sent, len);
    free(bytes);
}

static void
test_carries_bytes_both_ways(void **state)
{
    struct link link;

    link_ready(&link, *state);
    carry(&link, 0, 1);
    carry(&link, 1, 3000000);
    carry(&link, 0, 3000000);
    link_close(&link);
}

static void
test_tells_waiting_bytes(void **state)
{
    struct link link;
    struct err err;
    char part[10];
    size_t n;

    link_ready(&link, *state);
    assert_int_equal(tlsio_write(link.ends[0], "0123456789abc", 13, &n, &err),
        TLSIO_OK);
    assert_int_equal(tlsio_read(link.ends[1], part, sizeof part, &n, &err),
        TLSIO_OK);
    assert_int_equal(n, sizeof part);
    assert_true(tlsio_pending(link.ends[1]));
    assert_int_equal(tlsio_read(link.ends[1], part, sizeof part, &n, &err),
        TLSIO_OK);
    assert_int_equal(n, 3);
    assert_false(tlsio_pending(link.ends[1]));
    link_close(&link);
}

static void
test_goodbye_is_not_a_cut(void **state)
{
    struct link link;
    struct err err;
    char part[10];
    size_t n;

    link_ready(&link, *state);
    assert_int_equal(tlsio_close(link.ends[0], &err), TLSIO_OK);
    assert_int_equal(tlsio_read(link.ends[1], part, sizeof part, &n, &err),
        TLSIO_CLOSED);
    link_close(&link);

    link_ready(&link, *state);
    /* What lies unread when a socket is closed would make it a reset. */
    assert_int_equal(tlsio_read(link.ends[0], part, sizeof part, &n, &err),
        TLSIO_WANT_READ);
    assert_int_equal(close(link.fds[0]), 0);
    link.fds[0] = -1;
    assert_int_equal(tlsio_read(link.ends[1], part, sizeof part, &n, &err),
        TLSIO_FAILED);
    assert_int_equal(err.kind, ERR_NET);
    assert_true(err.retry);
    assert_string_equal(err.text, "TLS: the connection was cut");
    link_close(&link);
}

static void
test_refuses_what_is_not_a_side(void **state)
{
    const struct pki *pki = *state;
    const struct {
        const char *label, *want;
        struct tlsio_options options;
    } cases[] = {
        { "a server without a certificate", "needs a certificate",
            { .server = true } },
        { "a certificate that is none", "certificate: ",
            { .server = true,
                .cert_pem = "hello",
                .key_pem = selfsigned_key_pem(pki->server) } },
        { "the key of another", "private key: ",
            { .server = true,
                .cert_pem = selfsigned_cert_pem(pki->server),
                .key_pem = selfsigned_key_pem(pki->client) } },
        { "an empty bundle", "CA certificates: ", { .ca_pem = "" } },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };

        if (tlsio_side_new(&cases[i].options, &err) != NULL ||
            err.kind != ERR_CERT || strstr(err.text, cases[i].want) == NULL)
            fail_msg("%s: %s", cases[i].label, err.text);
    }
}

/* A first message of a client that knows TLS 1.2 at most, with one cipher
 * suite: what follows the suite is P-256, ECDSA with SHA-256, plain points. */
static const unsigned char hello_start[] = { 0x16, 3, 1, 0, 74, 1, 0, 0, 70, 3,
    3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
    21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 0, 0, 2 };
static const unsigned char hello_end[] = { 1, 0, 0, 27, 0, 10, 0, 4, 0, 2, 0,
    23, 0, 13, 0, 4, 0, 2, 4, 3, 0, 11, 0, 2, 1, 0, 0xff, 1, 0, 1, 0 };

#define RECORD_HANDSHAKE 22
#define RECORD_ALERT 21
#define ALERT_NO_COMMON_CIPHER 40
#define ALERT_VERSION 70

static const struct {
    const char *label, *floor;
    unsigned char suite[2];
    int want_record, want_alert;
} floors[] = {
    { "1.2 with AES-GCM at a floor of 1.2", "1.2", { 0xc0, 0x2b },
        RECORD_HANDSHAKE, 0 },
    { "1.2 with AES-CBC at a floor of 1.2", "1.2", { 0xc0, 0x09 }, RECORD_ALERT,
        ALERT_NO_COMMON_CIPHER },
    { "1.2 with AES-GCM at a floor of 1.3", "1.3", { 0xc0, 0x2b }, RECORD_ALERT,
        ALERT_VERSION },
    { "back to a floor of 1.2", "1.2", { 0xc0, 0x2b }, RECORD_HANDSHAKE, 0 },
};

static void
test_floor_holds_for_the_process(void **state)
{
    const struct pki *pki = *state;

    for (size_t i = 0; i < sizeof floors / sizeof floors[0]; i++) {
        unsigned char answer[7] = { 0 };
        struct tlsio_side *side;
        struct tlsio *tls;
        struct err err;
        int fds[2];

        assert_true(tlsio_process_floor(floors[i].floor, &err));
        side = side_new(true, NULL, pki->server);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
                             fds),
            0);
        tls = tlsio_new(side, fds[1], NULL, &err);
        assert_non_null(tls);
        assert_int_equal(write(fds[0], hello_start, sizeof hello_start),
            sizeof hello_start);
        assert_int_equal(write(fds[0], floors[i].suite, 2), 2);
        assert_int_equal(write(fds[0], hello_end, sizeof hello_end),
            sizeof hello_end);
        (void)!tlsio_handshake(tls, &err);
        assert_int_equal(read(fds[0], answer, sizeof answer), sizeof answer);
        if (answer[0] != floors[i].want_record ||
            (answer[0] == RECORD_ALERT && answer[6] != floors[i].want_alert))
            fail_msg("%s: record %d, %d", floors[i].label, answer[0],
                answer[6]);
        tlsio_free(tls);
        tlsio_side_free(side);
        assert_int_equal(close(fds[0]), 0);
        assert_int_equal(close(fds[1]), 0);
    }
}

static void
test_floor_knows_two_versions(void **state)
{
    static const char *const wrong[] = { "", "1.1", "1.20", "TLSv1.2", "1.4" };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct err err;

        assert_false(tlsio_process_floor(wrong[i], &err));
        assert_int_equal(err.kind, ERR_CONFIG);
        assert_non_null(strstr(err.text, "only \"1.2\" and \"1.3\""));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handshakes),
        cmocka_unit_test(test_carries_bytes_both_ways),
        cmocka_unit_test(test_tells_waiting_bytes),
        cmocka_unit_test(test_goodbye_is_not_a_cut),
        cmocka_unit_test(test_refuses_what_is_not_a_side),
        cmocka_unit_test(test_floor_knows_two_versions),
        cmocka_unit_test(test_floor_holds_for_the_process),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
