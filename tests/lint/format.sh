#!/bin/sh
# format.sh ROOT - every source file is as clang-format would write it.
set -eu
cd "$1"
files=$(find agent policy certs tests -name '*.[ch]')
[ -n "$files" ] || { echo "format: nothing to check in $1" >&2; exit 1; }
clang-format --dry-run -Werror --ferror-limit=3 $files
