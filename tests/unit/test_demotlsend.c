#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "clock.h"
#include "relay.h"
#include "selfsigned.h"
#include "tlsend.h"
#include "tlsio.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS 10000 /* an upper bound, never slept through when it works */

/* A TLS end in front of a socket that the test listens on. */
struct scene {
    struct selfsigned *ca, *server, *client;
    struct tlsio_side *side, *nameless; /* with and without a certificate */
    struct tlsend *tlsend;
    int listener;
};

struct guest {
    struct tlsio *tls;
    int fd, broker; /* our socket; the other end's, in plaintext */
};

static struct selfsigned *
make(enum selfsigned_kind kind, const struct selfsigned *ca)
{
    int64_t now = clock_wall_ms(clock_system());
    const struct selfsigned_options options = {
        .kind = kind,
        .common_name = kind == SELFSIGNED_CA ? "ca" : "end",
        .names = kind == SELFSIGNED_SERVER ? "IP:127.0.0.1" : NULL,
        .from_wall_ms = now - 1000000,
        .until_wall_ms = now + 1000000,
        .issuer = ca,
    };
    struct err err;
    struct selfsigned *made = selfsigned_new(&options, &err);

    assert_non_null(made);
    return made;
}

static struct tlsio_side *
side_new(const struct scene *scene, bool with_certificate)
{
    const struct selfsigned *own = with_certificate ? scene->client : NULL;
    const struct tlsio_options options = {
        .ca_pem = selfsigned_cert_pem(scene->ca),
        .cert_pem = own == NULL ? NULL : selfsigned_cert_pem(own),
        .key_pem = own == NULL ? NULL : selfsigned_key_pem(own),
    };
    struct err err;
    struct tlsio_side *side = tlsio_side_new(&options, &err);

    assert_non_null(side);
    return side;
}

static int
setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct sockaddr_in at;
    socklen_t len = sizeof at;
    struct tlsend_options options = { .n_targets = 1 };
    struct err err;

    assert_non_null(scene);
    assert_ptr_not_equal(signal(SIGPIPE, SIG_IGN), SIG_ERR);
    scene->ca = make(SELFSIGNED_CA, NULL);
    scene->server = make(SELFSIGNED_SERVER, scene->ca);
    scene->client = make(SELFSIGNED_CLIENT, scene->ca);
    scene->side = side_new(scene, true);
    scene->nameless = side_new(scene, false);
    scene->listener = relay_listen(0);
    assert_int_not_equal(scene->listener, -1);
    assert_int_equal(getsockname(scene->listener, (struct sockaddr *)&at, &len),
        0);
    options.targets[0] = ntohs(at.sin_port);
    options.cert_pem = selfsigned_cert_pem(scene->server);
    options.key_pem = selfsigned_key_pem(scene->server);
    options.client_ca_pem = selfsigned_cert_pem(scene->ca);
    scene->tlsend = tlsend_start(&options, &err);
    assert_non_null(scene->tlsend);
    *state = scene;
    return 0;
}

static int
teardown(void **state)
{
    struct scene *scene = *state;

    tlsend_stop(scene->tlsend);
    tlsio_side_free(scene->side);
    tlsio_side_free(scene->nameless);
    selfsigned_free(scene->ca);
    selfsigned_free(scene->server);
    selfsigned_free(scene->client);
    assert_int_equal(close(scene->listener), 0);
    free(scene);
    return 0;
}

static void
wait_for(int fd, short events)
{
    struct pollfd place = { .fd = fd, .events = events };

    assert_int_equal(poll(&place, 1, WAIT_MS), 1);
}

static struct tlsio *
dial(struct scene *scene, const struct tlsio_side *side, int *fd)
{
    struct err err;
    struct tlsio *tls;

    *fd = relay_connect(tlsend_port(scene->tlsend, 0));
    assert_int_not_equal(*fd, -1);
    tls = tlsio_new(side, *fd, "127.0.0.1", &err);
    assert_non_null(tls);
    return tls;
}

/* A connection that is through to the broker's side. */
static void
guest_open(struct scene *scene, struct guest *guest)
{
    struct err err;

    guest->tls = dial(scene, scene->side, &guest->fd);
    if (tlsio_handshake(guest->tls, &err) != TLSIO_OK)
        fail_msg("%s", err.text);
    wait_for(scene->listener, POLLIN);
    guest->broker = accept(scene->listener, NULL, NULL);
    assert_int_not_equal(guest->broker, -1);
}

static void
guest_close(struct guest *guest)
{
    tlsio_free(guest->tls);
    assert_int_equal(close(guest->fd), 0);
    assert_int_equal(close(guest->broker), 0);
}

static unsigned char
byte_at(size_t i)
{
    return (unsigned char)(i * 37 + i / 253);
}

/* Sends and reads back at the other side, in turns that never wait for room:
 * what does not fit now is sent later. */
static void
carry(struct guest *guest, bool up, size_t len)
{
    unsigned char *bytes = malloc(len);
    size_t sent = 0, got = 0;
    struct err err;

    assert_non_null(bytes);
    for (size_t i = 0; i < len; i++)
        bytes[i] = byte_at(i);
    while (got < len) {
        unsigned char part[5000];
        size_t n = 0;
        ssize_t m;

        if (up) {
            if (sent < len)
                (void)!tlsio_write(guest->tls, bytes + sent, len - sent, &n,
                    &err);
            m = recv(guest->broker, part, sizeof part, MSG_DONTWAIT);
        } else {
            m = send(guest->broker, bytes + sent, len - sent, MSG_DONTWAIT);
            sent += m > 0 ? (size_t)m : 0;
            (void)!tlsio_read(guest->tls, part, sizeof part, &n, &err);
            m = (ssize_t)n;
            n = 0;
        }
        sent += n;
        for (ssize_t i = 0; i < m; i++, got++)
            assert_int_equal(part[i], byte_at(got));
        if (m <= 0)
            wait_for(up ? guest->broker : guest->fd, POLLIN);
    }
    assert_int_equal(got, len);
    free(bytes);
}

static void
test_passes_bytes_both_ways(void **state)
{
    struct scene *scene = *state;
    struct tlsend_counts before, after;
    struct guest guest;

    tlsend_count(scene->tlsend, &before);
    guest_open(scene, &guest);
    assert_int_equal(fcntl(guest.fd, F_SETFL, O_NONBLOCK), 0);
    carry(&guest, true, 1);
    carry(&guest, false, 2);
    carry(&guest, true, 2000000);
    carry(&guest, false, 2000000);
    tlsend_count(scene->tlsend, &after);
    assert_int_equal(after.bytes_in - before.bytes_in, 2000001);
    assert_int_equal(after.bytes_out - before.bytes_out, 2000002);
    assert_int_equal(after.completed - before.completed, 1);
    guest_close(&guest);
}

static void
test_an_end_is_passed_on(void **state)
{
    struct scene *scene = *state;
    struct guest guest;
    struct err err;
    char byte;
    size_t n;

    guest_open(scene, &guest);
    tlsio_free(guest.tls);
    guest.tls = NULL;
    assert_int_equal(shutdown(guest.fd, SHUT_RDWR), 0);
    wait_for(guest.broker, POLLIN);
    assert_int_equal(recv(guest.broker, &byte, 1, 0), 0);
    guest_close(&guest);

    guest_open(scene, &guest);
    assert_int_equal(send(guest.broker, "!", 1, 0), 1);
    assert_int_equal(shutdown(guest.broker, SHUT_RDWR), 0);
    assert_int_equal(tlsio_read(guest.tls, &byte, 1, &n, &err), TLSIO_OK);
    assert_int_equal(byte, '!');
    assert_int_equal(tlsio_read(guest.tls, &byte, 1, &n, &err), TLSIO_FAILED);
    guest_close(&guest);
}

static void
test_nothing_passes_while_cut(void **state)
{
    struct scene *scene = *state;
    struct tlsend_counts before, after;
    struct guest guest;
    struct err err;
    struct tlsio *tls;
    char byte;
    size_t n;
    int fd;

    guest_open(scene, &guest);
    tlsend_cut(scene->tlsend);
    tlsend_count(scene->tlsend, &before);
    assert_int_equal(before.open, 0);
    assert_int_equal(recv(guest.broker, &byte, 1, 0), 0);
    assert_int_equal(tlsio_read(guest.tls, &byte, 1, &n, &err), TLSIO_FAILED);
    assert_true(err.retry);

    tls = dial(scene, scene->side, &fd);
    assert_int_equal(tlsio_handshake(tls, &err), TLSIO_FAILED);
    tlsio_free(tls);
    assert_int_equal(close(fd), 0);
    tlsend_count(scene->tlsend, &after);
    assert_int_equal(after.refused - before.refused, 1);
    assert_int_equal(after.completed, before.completed);
    assert_int_equal(after.bytes_in, before.bytes_in);
    guest_close(&guest);

    tlsend_restore(scene->tlsend);
    guest_open(scene, &guest);
    assert_int_equal(fcntl(guest.fd, F_SETFL, O_NONBLOCK), 0);
    carry(&guest, true, 100);
    guest_close(&guest);
}

static void
test_cuts_again_and_again(void **state)
{
    struct scene *scene = *state;

    for (int i = 0; i < 20; i++) {
        struct tlsend_counts counts;
        struct guest guest;

        guest_open(scene, &guest);
        tlsend_cut(scene->tlsend);
        tlsend_count(scene->tlsend, &counts);
        assert_int_equal(counts.open, 0);
        tlsend_restore(scene->tlsend);
        guest_close(&guest);
    }
}

static void
test_lets_in_only_whom_the_ca_knows(void **state)
{
    struct scene *scene = *state;
    struct tlsend_counts before, after;
    struct tlsio *tls;
    struct err err;
    char byte;
    size_t n;
    int fd;

    tlsend_count(scene->tlsend, &before);
    tls = dial(scene, scene->nameless, &fd);
    /* With TLS 1.3 it is the first read that says so. */
    if (tlsio_handshake(tls, &err) == TLSIO_OK)
        assert_int_equal(tlsio_read(tls, &byte, 1, &n, &err), TLSIO_FAILED);
    tlsio_free(tls);
    assert_int_equal(close(fd), 0);

    fd = relay_connect(tlsend_port(scene->tlsend, 0));
    assert_int_not_equal(fd, -1);
    assert_int_equal(send(fd, "\0\0\0\x10plaintext......", 20, 0), 20);
    while (recv(fd, &byte, 1, 0) > 0)
        ; /* an alert, and then the end */
    assert_int_equal(close(fd), 0);
    tlsend_count(scene->tlsend, &after);
    assert_int_equal(after.completed, before.completed);
    assert_int_equal(after.bytes_in, before.bytes_in);
    while (poll(&(struct pollfd){ scene->listener, POLLIN, 0 }, 1, 0) == 1)
        assert_int_equal(close(accept(scene->listener, NULL, NULL)), 0);
}

static void
test_stops_with_guests_inside(void **state)
{
    struct scene *scene = *state;
    struct guest guest;
    char byte;

    guest_open(scene, &guest);
    tlsend_stop(scene->tlsend);
    scene->tlsend = NULL;
    assert_int_equal(recv(guest.broker, &byte, 1, 0), 0);
    guest_close(&guest);
}

static void
test_refuses_a_bad_certificate(void **state)
{
    struct scene *scene = *state;
    const struct tlsend_options options = {
        .cert_pem = selfsigned_cert_pem(scene->server),
        .key_pem = selfsigned_key_pem(scene->ca),
        .n_targets = 1,
    };
    struct err err;

    assert_null(tlsend_start(&options, &err));
    assert_int_equal(err.kind, ERR_CERT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_passes_bytes_both_ways),
        TEST(test_an_end_is_passed_on),
        TEST(test_nothing_passes_while_cut),
        TEST(test_cuts_again_and_again),
        TEST(test_lets_in_only_whom_the_ca_knows),
        TEST(test_stops_with_guests_inside),
        TEST(test_refuses_a_bad_certificate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
