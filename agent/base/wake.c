#include "wake.h"

#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool
wake_open(struct wake *wake, struct err *err)
{
    wake->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake->fd == -1)
        return err_sys(err, ERR_IO, "eventfd");
    return true;
}

void
wake_close(struct wake *wake)
{
    if (wake->fd != -1)
        close(wake->fd);
    wake->fd = -1;
}

void
wake_signal(const struct wake *wake)
{
    const uint64_t one = 1;

    /* It fails only when 2^64 - 2 signals wait, and then one waits. */
    if (write(wake->fd, &one, sizeof one) == -1)
        return;
}

void
wake_wait(const struct wake *wake, int64_t timeout_ms)
{
    struct pollfd place = { .fd = wake->fd, .events = POLLIN };
    uint64_t signals;
    int wait_ms = timeout_ms > INT_MAX ? INT_MAX
                  : timeout_ms < 0     ? -1
                                       : (int)timeout_ms;

    if (timeout_ms != 0 && poll(&place, 1, wait_ms) != 1)
        return; /* time-out or a signal to the process: look, sleep again */
    if (read(wake->fd, &signals, sizeof signals) == -1)
        return; /* nothing had been signalled */
}
