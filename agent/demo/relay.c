#include "relay.h"

#include "tlsio.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_BYTES 32768
#define TURNS 16

/* Bytes on their way in one direction. */
struct buffer {
    size_t at, end;
    unsigned char bytes[BUFFER_BYTES];
};

struct relay {
    struct tlsio *tls;
    int outer, inner;  /* TLS; plaintext */
    short outer_wants; /* as the session says */
    bool shaken, inner_ended, busy;
    struct buffer up, down; /* to the broker; from it */
};

static struct sockaddr_in
loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
}

int
relay_connect(uint16_t port)
{
    const struct sockaddr_in to = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd != -1 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    if (fd != -1)
        close(fd);
    return -1;
}

int
relay_listen(uint16_t port)
{
    const struct sockaddr_in at = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd != -1 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return fd;
    if (fd != -1)
        close(fd);
    return -1;
}

static void
send_at_once(int fd)
{
    const int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

struct relay *
relay_new(const struct tlsio_side *side, int outer, uint16_t target)
{
    struct relay *relay = calloc(1, sizeof *relay);
    struct err err;

    if (relay == NULL) {
        close(outer);
        return NULL;
    }
    relay->outer = outer;
    relay->outer_wants = POLLIN;
    relay->inner = relay_connect(target);
    if (relay->inner != -1)
        relay->tls = tlsio_new(side, outer, NULL, &err);
    if (relay->tls == NULL) {
        relay_free(relay, true);
        return NULL;
    }
    send_at_once(relay->outer);
    send_at_once(relay->inner);
    return relay;
}

void
relay_free(struct relay *relay, bool reset)
{
    const struct linger now = { .l_onoff = 1, .l_linger = 0 };

    tlsio_free(relay->tls);
    if (reset)
        (void)setsockopt(relay->outer, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(relay->outer);
    if (relay->inner != -1)
        close(relay->inner);
    free(relay);
}

/* False: the connection is at its end. */
static bool
judge(struct relay *relay, enum tlsio_state state)
{
    if (state == TLSIO_WANT_READ)
        relay->outer_wants |= POLLIN;
    else if (state == TLSIO_WANT_WRITE)
        relay->outer_wants |= POLLOUT;
    return state != TLSIO_CLOSED && state != TLSIO_FAILED;
}

static bool
shake(struct relay *relay, struct relay_counts *counts)
{
    struct err err;
    enum tlsio_state state;

    if (relay->shaken)
        return true;
    state = tlsio_handshake(relay->tls, &err);
    if (state == TLSIO_OK) {
        relay->shaken = true;
        counts->completed = true;
    }
    return judge(relay, state);
}

static bool
move_up(struct relay *relay, struct relay_counts *counts, bool *moved)
{
    struct buffer *up = &relay->up;
    struct err err;

    if (up->at == up->end) {
        size_t n = 0;

        up->at = up->end = 0;
        if (!judge(relay,
                tlsio_read(relay->tls, up->bytes, sizeof up->bytes, &n, &err)))
            return false;
        up->end = n;
        counts->in += (int64_t)n;
    }
    if (up->at < up->end) {
        ssize_t n = send(relay->inner, up->bytes + up->at, up->end - up->at,
            MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n == -1)
            return errno == EAGAIN || errno == EINTR;
        up->at += (size_t)n;
        *moved = true;
    }
    return true;
}

static bool
move_down(struct relay *relay, struct relay_counts *counts, bool *moved)
{
    struct buffer *down = &relay->down;
    struct err err;

    if (down->at == down->end && !relay->inner_ended) {
        ssize_t n =
            recv(relay->inner, down->bytes, sizeof down->bytes, MSG_DONTWAIT);

        if (n == -1)
            return errno == EAGAIN || errno == EINTR;
        relay->inner_ended = n == 0;
        down->at = 0;
        down->end = (size_t)n;
        counts->out += (int64_t)n;
    }
    if (down->at < down->end) {
        size_t n = 0;

        if (!judge(relay, tlsio_write(relay->tls, down->bytes + down->at,
                              down->end - down->at, &n, &err)))
            return false;
        down->at += n;
        *moved = *moved || n > 0;
    }
    return !relay->inner_ended || down->at < down->end;
}

bool
relay_serve(struct relay *relay, struct relay_counts *counts)
{
    bool moved = true;

    *counts = (struct relay_counts){ 0 };
    relay->busy = false;
    for (int i = 0; moved && i < TURNS; i++) {
        moved = false;
        relay->outer_wants = 0;
        if (!shake(relay, counts))
            return false;
        if (!relay->shaken)
            return true;
        if (!move_up(relay, counts, &moved) ||
            !move_down(relay, counts, &moved))
            return false;
    }
    relay->busy = moved;
    return true;
}

bool
relay_busy(const struct relay *relay)
{
    return relay->busy;
}

void
relay_wants(const struct relay *relay, struct pollfd polls[2])
{
    short inner = 0;

    if (relay->shaken && relay->up.at < relay->up.end)
        inner |= POLLOUT;
    if (relay->shaken && relay->down.at == relay->down.end)
        inner |= POLLIN;
    polls[0] = (struct pollfd){ relay->outer, relay->outer_wants, 0 };
    polls[1] = (struct pollfd){ inner == 0 ? -1 : relay->inner, inner, 0 };
}
