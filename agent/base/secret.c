#include "secret.h"

#include "file.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

struct secret {
    size_t len;
    char *text; /* locked pages; a NUL behind it */
};

struct secret *
secret_from_bytes(const void *bytes, size_t len, struct err *err)
{
    struct secret *secret;

    if (len == 0 || len > SECRET_MAX) {
        err_set(err, ERR_CONFIG, "secret: %s",
            len == 0 ? "empty" : "more than 4096 bytes");
        return NULL;
    }
    if (memchr(bytes, '\0', len) != NULL) {
        err_set(err, ERR_CONFIG, "secret: a NUL byte inside");
        return NULL;
    }
    if (sodium_init() == -1) {
        err_set(err, ERR_IO, "secret: no random numbers for guard pages");
        return NULL;
    }
    secret = calloc(1, sizeof *secret);
    if (secret == NULL || (secret->text = sodium_malloc(len + 1)) == NULL) {
        free(secret);
        err_set(err, ERR_MEMORY, "secret");
        return NULL;
    }
    memcpy(secret->text, bytes, len);
    secret->text[len] = '\0';
    secret->len = len;
    (void)sodium_mprotect_readonly(secret->text);
    return secret;
}

struct secret *
secret_from_file(const char *path, struct err *err)
{
    struct secret *secret;
    size_t len, all;
    /* Two more than a secret may have, for the line break. */
    char *bytes = file_read_private(path, SECRET_MAX + 2, &all, err);

    if (bytes == NULL)
        return NULL;
    len = all;
    if (len > 0 && bytes[len - 1] == '\n')
        len--;
    if (len < all && len > 0 && bytes[len - 1] == '\r')
        len--;
    secret = secret_from_bytes(bytes, len, err);
    if (secret == NULL)
        err_wrap(err, "%s", path);
    sodium_memzero(bytes, all);
    free(bytes);
    return secret;
}

void
secret_free(struct secret *secret)
{
    if (secret == NULL)
        return;
    sodium_free(secret->text); /* wipes it */
    free(secret);
}

const char *
secret_text(const struct secret *secret)
{
    return secret->text;
}

size_t
secret_len(const struct secret *secret)
{
    return secret->len;
}

bool
secret_equals(const struct secret *secret, const void *bytes, size_t len)
{
    return len == secret->len && sodium_memcmp(secret->text, bytes, len) == 0;
}
