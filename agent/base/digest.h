/* digest.h - digests of bytes: lane hashing, fingerprints.
 *
 * XXH64 and XXH3 are for telling things apart, not for secrets.  SHA-256 is
 * for what an operator compares with sha256sum(1).
 *
 * Thread: any; no state.  Memory: none. */
#ifndef KEDGE_DIGEST_H
#define KEDGE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* xxHash64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), seed 0. */
uint64_t digest_xxh64(const void *bytes, size_t len);

/* SHA-256 as 64 hexadecimal digits and a NUL. */
#define DIGEST_SHA256_SIZE 65
void digest_sha256(char text[DIGEST_SHA256_SIZE], const void *bytes,
    size_t len);

#endif
