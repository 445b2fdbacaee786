#!/bin/sh
# globals.sh BUILD - no variable of ours outlives its function and can change.
#
# Read off the object files: whatever lies in a section that stays writable
# (.data.rel.ro is written by the loader alone).  That finds file scope,
# function statics and thread-local ones.
set -eu
status=0
objects=$(find "$1" -name '*.c.o' -path '*/kedge*.dir/*')
[ -n "$objects" ] || { echo "globals: no object file in $1" >&2; exit 1; }
for object in $objects; do
    found=$(objdump -t "$object" | awk '
        {
            for (i = 2; i < NF; i++)
                if ($i ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ &&
                    $i !~ /^\.data\.rel\.ro/ && $NF !~ /^\./)
                    print $NF
        }')
    if [ -n "$found" ]; then
        echo "$(basename "$object" .c.o) has variables:" $found >&2
        status=1
    fi
done
exit $status
