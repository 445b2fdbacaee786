#!/bin/sh
# tidy.sh ROOT BUILD [FILE...] - clang-tidy with .clang-tidy over our sources,
# with the compiler flags of BUILD/compile_commands.json, one process a core.
# Function length, parameters and nesting are checked here.
set -eu
root=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
shift 2
if [ $# -eq 0 ]; then
    set -- $(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' \
        "$build/compile_commands.json" | grep "^$root/" |
        grep -v "^$build/" | sort -u)
fi
[ $# -gt 0 ] || { echo "tidy: nothing to check in $build" >&2; exit 1; }
# The largest first, so that no core is left with them at the end.
ls -S "$@" | xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet \
    --extra-arg=-Wno-unknown-warning-option 2>/dev/null
