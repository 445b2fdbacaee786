#!/bin/sh
# symbols.sh BUILD - an object exports only names that start with its module's.
#
# The module is the file.  Some are named after what they are about and their
# functions after the thing they hand out; each such pair is a row here, and no
# prefix has two owners.
set -eu
status=0
objects=$(find "$1" -name '*.c.o' -path '*/kedge*.dir/*')
[ -n "$objects" ] || { echo "symbols: no object file in $1" >&2; exit 1; }
for object in $objects; do
    module=$(basename "$object" .c.o)
    case $module in
    diag) more='findings_' ;;
    diagprint) more='findings_print' ;;
    metric) more='metrics_' ;;
    pace) more='backoff_' ;;
    ledgerstore) more='ledger_batch_' ;;
    *) more='' ;;
    esac
    stray=$(nm -g --defined-only "$object" |
        awk -v p="^${module}(_|\$)" -v q="^${more:-$module}" \
            'NF == 3 && $3 !~ p && $3 !~ q && $3 != "main" &&
            $3 !~ /^__(asan|odr_asan|tsan|ubsan)/ { print $3 }')
    if [ -n "$stray" ]; then
        echo "$module exports:" $stray >&2
        status=1
    fi
done
exit $status
