#!/bin/sh
# tidy.sh ROOT BUILD [FILE...] - clang-tidy with .clang-tidy over our sources,
# with the compiler flags of BUILD/compile_commands.json, one process a core.
# Parameters and nesting of functions are checked here, too.
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

# What GCC lets pass in macros of a library, and looks at itself elsewhere, is
# taken out.  The largest first, so that no core is left with them at the end.
tidy() { # CHECKS, and the files on standard input
    xargs -r ls -S | xargs -r -P "$(nproc)" -n 4 clang-tidy -p "$build" \
        --quiet --checks="$1" --extra-arg=-Wno-unknown-warning-option \
        --extra-arg=-Wno-gnu-statement-expression \
        --extra-arg=-Wno-cast-qual \
        2>/dev/null
}
# Tests without the analyzer: each of cmocka's macros is a fork in its paths,
# and most of the time would go there.
status=0
printf '%s\n' "$@" | grep -v '/tests/' | tidy '' || status=1
printf '%s\n' "$@" | grep '/tests/' | tidy '-clang-analyzer-*' || status=1
exit $status
