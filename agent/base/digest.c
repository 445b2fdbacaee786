#include "digest.h"

#include <sodium.h>
#include <xxhash.h>

uint64_t
digest_xxh64(const void *bytes, size_t len)
{
    return XXH64(bytes, len, 0);
}

void
digest_sha256(char text[DIGEST_SHA256_SIZE], const void *bytes, size_t len)
{
    unsigned char sum[crypto_hash_sha256_BYTES];

    (void)crypto_hash_sha256(sum, bytes, len);
    (void)sodium_bin2hex(text, DIGEST_SHA256_SIZE, sum, sizeof sum);
}
