#!/bin/sh
# format.sh ROOT - every source file is as clang-format would write it.
set -eu
cd "$1"
find agent policy certs tests -name '*.[ch]' -print0 |
    xargs -0 clang-format --dry-run -Werror --ferror-limit=3
