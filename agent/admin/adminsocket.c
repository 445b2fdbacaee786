#include "adminsocket.h"

#include "loopback.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 16

static bool
fill_address(struct sockaddr_un *address, const char *path, struct err *err)
{
    size_t len = strlen(path);

    if (len == 0 || len >= sizeof address->sun_path)
        return err_set(err, ERR_CONFIG,
            "the admin socket's path must have 1 to %zu bytes, not %zu",
            sizeof address->sun_path - 1, len);
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(address->sun_path, path, len);
    return true;
}

int
adminsocket_connect(const char *path, struct err *err)
{
    struct sockaddr_un address;
    int fd;

    if (!fill_address(&address, path, err))
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1) {
        err_sys(err, ERR_IO, "socket");
        return -1;
    }
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (errno == ENOENT || errno == ECONNREFUSED)
        err_set(err, ERR_NET,
            "no agent answers on %s: start 'kedge run', or give --socket as in "
            "admin.socket of its policy",
            path);
    else if (errno == EAGAIN)
        err_set_retry(err, ERR_NET,
            "the agent on %s is busy, try again: too many wait for it already",
            path);
    else if (errno == EACCES || errno == EPERM)
        err_set(err, ERR_DENIED,
            "%s: not permitted; be root, or a member of its group", path);
    else
        err_sys(err, ERR_CONFIG, "%s: there is no agent", path);
    close(fd);
    return -1;
}

/* errno, for a path at which the socket cannot be made. */
static bool
cannot_make(const char *path, struct err *err)
{
    if (errno == EACCES || errno == EPERM || errno == EROFS)
        return err_sys(err, ERR_DENIED,
            "the admin socket at %s (admin.socket can name another place)",
            path);
    if (errno == ENOENT || errno == ENOTDIR)
        return err_sys(err, ERR_CONFIG, "the admin socket at %s", path);
    return err_sys(err, ERR_IO, "the admin socket at %s", path);
}

/* Makes the last part of the folder that `path` is in. */
static bool
make_folder(const char *path, struct err *err)
{
    char folder[sizeof((struct sockaddr_un *)0)->sun_path];
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - path);

    if (len == 0)
        return true; /* here, or in the root */
    memcpy(folder, path, len);
    folder[len] = '\0';
    if (mkdir(folder, 0750) == 0 || errno == EEXIST)
        return true;
    if (errno == ENOENT)
        return err_set(err, ERR_CONFIG,
            "the admin socket at %s: the folder above %s is missing", path,
            folder);
    return cannot_make(path, err);
}

/* A file of a crashed agent stays behind.  It goes, unless it is in use. */
static bool
remove_stale(const char *path, struct err *err)
{
    struct stat st;
    int fd;

    if (lstat(path, &st) == -1)
        return errno == ENOENT ? true : cannot_make(path, err);
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, ERR_CONFIG,
            "%s: there is a file that is not a socket", path);
    fd = adminsocket_connect(path, err);
    if (fd != -1 || err->retry) {
        if (fd != -1)
            close(fd);
        return err_set(err, ERR_CONFIG,
            "another agent answers on %s; give this one another admin.socket",
            path);
    }
    if (err->kind != ERR_NET)
        return false;
    if (unlink(path) == -1 && errno != ENOENT)
        return err_sys(err, ERR_IO, "%s", path);
    return true;
}

int
adminsocket_unix(const char *path, struct err *err)
{
    struct sockaddr_un address;
    mode_t before;
    int fd = -1;
    int bound;

    if (!fill_address(&address, path, err) || !make_folder(path, err) ||
        !remove_stale(path, err))
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1) {
        err_sys(err, ERR_IO, "socket");
        return -1;
    }
    before = umask(0117); /* never open to others, not for a moment */
    bound = bind(fd, (struct sockaddr *)&address, sizeof address);
    (void)umask(before);
    if (bound == -1 || listen(fd, BACKLOG) == -1) {
        cannot_make(path, err);
        close(fd);
        return -1;
    }
    return fd;
}

int
adminsocket_loopback(const char *text, struct err *err)
{
    struct sockaddr_storage address;
    socklen_t len = loopback_parse(text, &address);
    const int one = 1;
    int fd;

    if (len == 0) {
        err_set(err, ERR_CONFIG,
            "admin.metrics: '%s' is not a loopback address with a port, like "
            "127.0.0.1:9464",
            text);
        return -1;
    }
    fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
        0);
    if (fd == -1) {
        err_sys(err, ERR_IO, "socket");
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, len) == -1 ||
        listen(fd, BACKLOG) == -1) {
        err_sys(err, errno == EACCES ? ERR_DENIED : ERR_CONFIG,
            "admin.metrics: %s", text);
        close(fd);
        return -1;
    }
    return fd;
}
