#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
file_open(const char *path, struct err *err)
{
    /* A pipe that nobody writes would make us wait. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int error = errno;
    struct stat st;

    if (fd != -1 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    if (fd != -1 || error == ENXIO) /* so it is with a socket */
        err_set(err, ERR_CONFIG, "%s: not a regular file", path);
    else if (error == ENOENT || error == ENOTDIR)
        err_sys(err, ERR_MISSING, "%s", path);
    else if (error == EACCES || error == EPERM)
        err_sys(err, ERR_DENIED, "%s", path);
    else
        err_sys(err, ERR_IO, "%s", path);
    if (fd != -1)
        close(fd);
    return -1;
}

/* The old bytes may be a secret: they are wiped, which realloc() does not. */
static char *
grow(char *bytes, size_t used, size_t room)
{
    char *bigger = malloc(room);

    if (bigger != NULL && used > 0)
        memcpy(bigger, bytes, used);
    if (bytes != NULL)
        explicit_bzero(bytes, used);
    free(bytes);
    return bigger;
}

/* Reads one byte more than `max` to see that there is more. */
static char *
read_all(int fd, size_t max, size_t *len, struct err *err)
{
    struct stat st;
    size_t used = 0, room = 4096;
    char *bytes = NULL;

    if (fstat(fd, &st) == 0 && st.st_size > 0 && (size_t)st.st_size < max)
        room = (size_t)st.st_size + 2;
    while (used <= max) {
        ssize_t got;

        if (bytes == NULL || used + 1 >= room) {
            room = bytes == NULL ? room : room * 2;
            if ((bytes = grow(bytes, used, room)) == NULL) {
                err_set(err, ERR_MEMORY, "%zu bytes", room);
                return NULL;
            }
        }
        got = read(fd, bytes + used, room - used - 1);
        if (got == -1 && errno == EINTR)
            continue;
        if (got == -1)
            err_sys(err, ERR_IO, "read");
        if (got <= 0) {
            bytes[used] = '\0';
            *len = got == 0 ? used : 0;
            if (got == 0)
                return bytes;
            goto failed;
        }
        used += (size_t)got;
    }
    *len = used;
    err_set(err, ERR_CONFIG, "more than %zu bytes", max);
failed:
    explicit_bzero(bytes, used);
    free(bytes);
    return NULL;
}

/* Takes `fd`, which may be -1. */
static char *
read_file(int fd, const char *path, bool private, size_t max, size_t *len,
    struct err *err)
{
    char *bytes = NULL;

    *len = 0;
    if (fd == -1)
        return NULL;
    if (!private || file_check_private(fd, path, err)) {
        bytes = read_all(fd, max, len, err);
        if (bytes == NULL)
            err_wrap(err, "%s", path);
    }
    close(fd);
    return bytes;
}

char *
file_read(const char *path, size_t max, size_t *len, struct err *err)
{
    return read_file(file_open(path, err), path, false, max, len, err);
}

char *
file_read_private(const char *path, size_t max, size_t *len, struct err *err)
{
    return read_file(file_open(path, err), path, true, max, len, err);
}

bool
file_check_private(int fd, const char *path, struct err *err)
{
    struct stat st;
    mode_t group;

    if (fstat(fd, &st) == -1)
        return err_sys(err, ERR_IO, "%s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_CONFIG, "%s: not a regular file", path);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return err_set(err, ERR_CONFIG, "%s: belongs to somebody else", path);
    group = st.st_uid == 0 ? S_IWGRP | S_IXGRP : S_IRWXG;
    if ((st.st_mode & (group | S_IRWXO)) != 0)
        return err_set(err, ERR_CONFIG, "%s: open to %s (mode %04o)", path,
            (st.st_mode & S_IRWXO) != 0 ? "others" : "its group",
            (unsigned)(st.st_mode & 07777));
    return true;
}

static bool
write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t done = write(fd, bytes, len);

        if (done == -1 && errno == EINTR)
            continue;
        if (done == -1)
            return false;
        bytes += done;
        len -= (size_t)done;
    }
    return true;
}

bool
file_replace(int dir, const char *name, const void *bytes, size_t len,
    struct err *err)
{
    char temp[272];
    int fd = -1;
    bool ok = false, made = false;

    if (snprintf(temp, sizeof temp, ".%s.new", name) >= (int)sizeof temp)
        return err_set(err, ERR_IO, "%s: name too long", name);
    if (unlinkat(dir, temp, 0) == -1 && errno != ENOENT)
        goto out; /* a leftover of a crash goes first */
    fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
        0600);
    made = fd != -1;
    if (!made || !write_all(fd, bytes, len) || fsync(fd) == -1)
        goto out;
    if (renameat(dir, temp, dir, name) == -1)
        goto out;
    made = false;
    ok = fsync(dir) == 0;
out:
    if (!ok)
        err_sys(err, ERR_IO, "%s", name);
    if (fd != -1)
        close(fd);
    if (made)
        (void)unlinkat(dir, temp, 0);
    return ok;
}
