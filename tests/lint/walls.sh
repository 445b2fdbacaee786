#!/bin/sh
# walls.sh ROOT - a third-party header is included inside its wall alone.
#
# Each row: the header as it stands between <>, as a pattern, then the places
# that may include it, as a pattern over paths below ROOT.  Tests, which drive
# these libraries from outside, are not behind the walls.
set -eu
cd "$1"
status=0
[ -n "$(find agent policy certs -name '*.[ch]')" ] ||
    { echo "walls: nothing to check in $1" >&2; exit 1; }
while read -r header places; do
    [ -n "$header" ] || continue
    found=$(find agent policy certs -name '*.[ch]' -exec \
        grep -HnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]$header[>\"]" \
        {} + 2>/dev/null | grep -vE "^($places):" || true)
    if [ -n "$found" ]; then
        echo "$found" | sed "s|\$|  -- only in $places|" >&2
        status=1
    fi
done <<'ROWS'
librdkafka/rdkafka\.h         agent/(kafka|demo)/[^/]*
librdkafka/rdkafka_mock\.h    agent/demo/[^/]*
pcre2\.h                      policy/match\.c
xxhash\.h                     agent/base/digest\.c
jansson\.h                    agent/base/json\.c
seccomp\.h                    agent/sandbox\.c
systemd/.*\.h                 agent/service\.c
openssl/.*\.h                 certs/[^/]*
yaml\.h                       policy/yaml\.c
microhttpd\.h                 agent/admin/admin\.c
sodium\.h                     agent/base/(secret|digest|signature)\.c|policy/seal\.c
sys/(epoll|signalfd)\.h       agent/loop\.c
ROWS
exit $status
