#!/bin/sh
# depth.sh ROOT - source stands at most two folders deep, each name once.
set -eu
cd "$1"
status=0
sources() { find agent policy certs tests -name '*.[ch]' | sort; }
[ -n "$(sources)" ] ||
    { echo "depth: nothing to check in $1" >&2; exit 1; }
deep=$(sources | grep -E '^([^/]*/){3}' || true)
if [ -n "$deep" ]; then
    echo "more than two folders deep:" $deep >&2
    status=1
fi
twice=$(sources | sed 's|.*/||' | sort | uniq -d)
for name in $twice; do
    echo "more than one file of this name:" $(sources | grep "/$name\$") >&2
    status=1
done
exit $status
