#include "tlsend.h"

#include "relay.h"
#include "tlsio.h"
#include "wake.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define POLL_MAX (1 + TLSEND_PORTS_MAX + 2 * TLSEND_CONNECTIONS_MAX)

struct tlsend {
    /* fixed */
    struct tlsio_side *side;
    uint16_t targets[TLSEND_PORTS_MAX], ports[TLSEND_PORTS_MAX];
    size_t n;
    struct wake wake;
    pthread_t thread;
    bool started;
    /* own: the thread's */
    int listeners[TLSEND_PORTS_MAX];
    struct relay *relays[TLSEND_CONNECTIONS_MAX];
    size_t n_relays;
    struct pollfd polls[POLL_MAX];
    /* shared */
    atomic_bool cut, stop;
    pthread_mutex_t lock; /* of quiet */
    pthread_cond_t turned;
    bool quiet; /* the thread has seen the cut and ended everything */
    atomic_int_fast64_t accepted, completed, refused, bytes_in, bytes_out, open;
};

/* What is refused sees a reset, as it would of a link that is down. */
static void
on_accept(struct tlsend *tlsend, size_t i)
{
    const struct linger now = { .l_onoff = 1, .l_linger = 0 };
    int fd =
        accept4(tlsend->listeners[i], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct relay *relay;

    if (fd == -1)
        return;
    atomic_fetch_add(&tlsend->accepted, 1);
    if (atomic_load(&tlsend->cut) ||
        tlsend->n_relays == TLSEND_CONNECTIONS_MAX) {
        atomic_fetch_add(&tlsend->refused, 1);
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close(fd);
        return;
    }
    relay = relay_new(tlsend->side, fd, tlsend->targets[i]);
    if (relay == NULL)
        return;
    tlsend->relays[tlsend->n_relays++] = relay;
    atomic_store(&tlsend->open, (int64_t)tlsend->n_relays);
}

/* False: it is at its end. */
static bool
serve(struct tlsend *tlsend, size_t i)
{
    struct relay_counts counts;
    bool goes_on = relay_serve(tlsend->relays[i], &counts);

    atomic_fetch_add(&tlsend->bytes_in, counts.in);
    atomic_fetch_add(&tlsend->bytes_out, counts.out);
    if (counts.completed)
        atomic_fetch_add(&tlsend->completed, 1);
    return goes_on;
}

static void
drop(struct tlsend *tlsend, size_t i, bool reset)
{
    relay_free(tlsend->relays[i], reset);
    tlsend->relays[i] = tlsend->relays[--tlsend->n_relays];
    atomic_store(&tlsend->open, (int64_t)tlsend->n_relays);
}

static void
drop_all(struct tlsend *tlsend)
{
    while (tlsend->n_relays > 0)
        drop(tlsend, 0, true);
}

static void
note_quiet(struct tlsend *tlsend)
{
    pthread_mutex_lock(&tlsend->lock);
    tlsend->quiet = true;
    pthread_cond_broadcast(&tlsend->turned);
    pthread_mutex_unlock(&tlsend->lock);
}

static nfds_t
fill_polls(struct tlsend *tlsend)
{
    struct pollfd *polls = tlsend->polls;
    nfds_t n = 0;

    polls[n++] = (struct pollfd){ .fd = tlsend->wake.fd, .events = POLLIN };
    for (size_t i = 0; i < tlsend->n; i++)
        polls[n++] =
            (struct pollfd){ .fd = tlsend->listeners[i], .events = POLLIN };
    for (size_t i = 0; i < tlsend->n_relays; i++, n += 2)
        relay_wants(tlsend->relays[i], &polls[n]);
    return n;
}

static bool
any_busy(const struct tlsend *tlsend)
{
    for (size_t i = 0; i < tlsend->n_relays; i++)
        if (relay_busy(tlsend->relays[i]))
            return true;
    return false;
}

static void
turn(struct tlsend *tlsend)
{
    size_t served = tlsend->n_relays;
    nfds_t n = fill_polls(tlsend);
    int wait_ms = any_busy(tlsend) ? 0 : -1;

    if (poll(tlsend->polls, n, wait_ms) == -1)
        return; /* EINTR; signals are blocked, so not even that */
    wake_wait(&tlsend->wake, 0);
    if (atomic_load(&tlsend->cut)) {
        drop_all(tlsend);
        note_quiet(tlsend);
        served = 0;
    }
    /* From the last on: drop() moves the last into the hole. */
    for (size_t i = served; i-- > 0;) {
        const struct pollfd *polls = &tlsend->polls[1 + tlsend->n + 2 * i];

        if ((relay_busy(tlsend->relays[i]) || polls[0].revents != 0 ||
                polls[1].revents != 0) &&
            !serve(tlsend, i))
            drop(tlsend, i, false);
    }
    for (size_t i = 0; i < tlsend->n; i++)
        if (tlsend->polls[1 + i].revents != 0)
            on_accept(tlsend, i);
}

static void *
run(void *ctx)
{
    struct tlsend *tlsend = ctx;

    while (!atomic_load(&tlsend->stop))
        turn(tlsend);
    drop_all(tlsend);
    return NULL;
}

static bool
open_listeners(struct tlsend *tlsend, struct err *err)
{
    for (size_t i = 0; i < tlsend->n; i++) {
        struct sockaddr_in at = { 0 };
        socklen_t len = sizeof at;

        tlsend->listeners[i] = relay_listen(0);
        if (tlsend->listeners[i] == -1 ||
            getsockname(tlsend->listeners[i], (struct sockaddr *)&at, &len) ==
                -1)
            return err_sys(err, ERR_IO, "TLS end: listen on 127.0.0.1");
        tlsend->ports[i] = ntohs(at.sin_port);
    }
    return true;
}

static bool
start_thread(struct tlsend *tlsend, struct err *err)
{
    sigset_t all, before;
    int failed;

    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    failed = pthread_create(&tlsend->thread, NULL, run, tlsend);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    tlsend->started = failed == 0;
    errno = failed;
    return failed == 0 || err_sys(err, ERR_IO, "TLS end: thread");
}

struct tlsend *
tlsend_start(const struct tlsend_options *options, struct err *err)
{
    const struct tlsio_options side = {
        .server = true,
        .ca_pem = options->client_ca_pem,
        .cert_pem = options->cert_pem,
        .key_pem = options->key_pem,
    };
    struct tlsend *tlsend = calloc(1, sizeof *tlsend);
    bool ok = false;

    assert(options->n_targets > 0 && options->n_targets <= TLSEND_PORTS_MAX);
    if (tlsend == NULL) {
        err_set(err, ERR_MEMORY, "TLS end");
        return NULL;
    }
    tlsend->n = options->n_targets;
    tlsend->wake.fd = -1;
    memcpy(tlsend->targets, options->targets, sizeof tlsend->targets);
    for (size_t i = 0; i < TLSEND_PORTS_MAX; i++)
        tlsend->listeners[i] = -1;
    (void)pthread_mutex_init(&tlsend->lock, NULL);
    (void)pthread_cond_init(&tlsend->turned, NULL);
    tlsend->side = tlsio_side_new(&side, err);
    ok = tlsend->side != NULL && wake_open(&tlsend->wake, err) &&
         open_listeners(tlsend, err) && start_thread(tlsend, err);
    if (!ok) {
        tlsend_stop(tlsend);
        tlsend = NULL;
    }
    return tlsend;
}

void
tlsend_stop(struct tlsend *tlsend)
{
    if (tlsend == NULL)
        return;
    if (tlsend->started) {
        atomic_store(&tlsend->stop, true);
        wake_signal(&tlsend->wake);
        (void)pthread_join(tlsend->thread, NULL);
    }
    for (size_t i = 0; i < tlsend->n; i++)
        if (tlsend->listeners[i] != -1)
            close(tlsend->listeners[i]);
    if (tlsend->wake.fd != -1)
        wake_close(&tlsend->wake);
    tlsio_side_free(tlsend->side);
    (void)pthread_cond_destroy(&tlsend->turned);
    (void)pthread_mutex_destroy(&tlsend->lock);
    free(tlsend);
}

uint16_t
tlsend_port(const struct tlsend *tlsend, size_t i)
{
    assert(i < tlsend->n);
    return tlsend->ports[i];
}

void
tlsend_cut(struct tlsend *tlsend)
{
    pthread_mutex_lock(&tlsend->lock);
    tlsend->quiet = false;
    atomic_store(&tlsend->cut, true);
    wake_signal(&tlsend->wake);
    while (!tlsend->quiet)
        (void)pthread_cond_wait(&tlsend->turned, &tlsend->lock);
    pthread_mutex_unlock(&tlsend->lock);
}

void
tlsend_restore(struct tlsend *tlsend)
{
    atomic_store(&tlsend->cut, false);
    wake_signal(&tlsend->wake);
}

void
tlsend_count(const struct tlsend *tlsend, struct tlsend_counts *counts)
{
    *counts = (struct tlsend_counts){
        .accepted = atomic_load(&tlsend->accepted),
        .completed = atomic_load(&tlsend->completed),
        .refused = atomic_load(&tlsend->refused),
        .bytes_in = atomic_load(&tlsend->bytes_in),
        .bytes_out = atomic_load(&tlsend->bytes_out),
        .open = atomic_load(&tlsend->open),
    };
}
