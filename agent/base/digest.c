#include "digest.h"

#include <xxhash.h>

uint64_t
digest_xxh64(const void *bytes, size_t len)
{
    return XXH64(bytes, len, 0);
}
