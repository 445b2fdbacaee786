#!/bin/sh
# wording.sh ROOT - no path of somebody's machine in what is published.
set -eu
cd "$1"
# Written so that this file does not find itself.
pattern='/wor[k]/|/tmp/pre[p]|/hom[e]/[a-z]|/roo[t]/'
files=$(git ls-files -co --exclude-standard 2>/dev/null ||
    find . -name build -prune -o -type f -print)
[ -n "$files" ] || { echo "wording: no file in $1" >&2; exit 1; }
if echo "$files" | tr '\n' '\0' | xargs -0 grep -InHE "$pattern" >&2; then
    exit 1
fi
