#!/bin/sh
# mdoc.sh ROOT - every manual page lints clean.
set -eu
pages=$(find "$1/docs" -name '*.[1-8]' | sort)
[ -n "$pages" ] || { echo "mdoc: no manual page in docs/" >&2; exit 1; }
mandoc -T lint -W warning $pages >&2
