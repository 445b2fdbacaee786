#!/bin/sh
# cases.sh ROOT - each case that this stage has to prove is named by a test.
#
# A case is a thing that went wrong for somebody who forwarded records; a test
# that proves it has its number, as P21 or p21, in its name or in what it says
# of itself.
set -eu
status=0
for case in 01 02 03 05 06 10 12 13 18 19 21 22 26 27 32 46 49 50 51; do
    grep -rqiE --include='*.c' --include='*.py' \
        "(^|[^a-z0-9])p$case([^0-9]|\$)" "$1/tests/unit" "$1/tests/system" &&
        continue
    echo "cases: no test names P$case" >&2
    status=1
done
exit $status
