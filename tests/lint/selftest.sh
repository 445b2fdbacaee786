#!/bin/bash
# selftest.sh ROOT - each lint passes a good sample and refuses a bad one.
#
# A lint that finds nothing because it looks at nothing would pass for ever;
# so every one is shown a small tree of its own, first in order and then with
# one fault, and one without anything to look at.  The same for the edits of
# librdkafka, each of which must apply exactly once or fail.
set -u
root=$(cd "$1" && pwd)
lint=$root/tests/lint
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

verdict() { # LABEL WANT GOT
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not as expected (wanted $2, got $3): $1" >&2
        sed 's/^/    /' "$work/out" >&2
    fi
}
accepts() { # LABEL COMMAND...
    local label=$1
    shift
    "$@" >"$work/out" 2>&1 && verdict "$label" ok ok || verdict "$label" ok bad
}
refuses() { # LABEL WORD COMMAND...: fails, and names the fault
    local label=$1 word=$2
    shift 2
    if "$@" >"$work/out" 2>&1; then
        verdict "$label" bad ok
    elif grep -qF -- "$word" "$work/out"; then
        verdict "$label" bad bad
    else
        verdict "$label: says so" "$word" "something else"
    fi
}

# A tree in order: one module with a header, and its test.
fresh() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/agent/base" "$work/tree/policy" "$work/tree/certs" \
        "$work/tree/docs" "$work/tree/tests/unit" "$work/tree/build"
    cd "$work/tree" || exit 1
    cp "$root/.clang-format" "$root/.clang-tidy" .
    cat >agent/base/twice.h <<'C'
/* twice.h - a number, twice.
 *
 * For the tests of the lints. */
#ifndef KEDGE_TWICE_H
#define KEDGE_TWICE_H

/* Twice the number. */
int twice_of(int number);

#endif
C
    cat >agent/base/twice.c <<'C'
#include "twice.h"

static const char *const names[] = { "one", "two" };

int
twice_of(int number)
{
    return names[0][0] == 'o' ? 2 * number : 0;
}
C
    cat >tests/unit/test_twice.c <<'C'
#include "twice.h"

int
main(void)
{
    int failed = 0;

    if (twice_of(2) != 4)
        failed = 1;
    if (twice_of(0) != 0)
        failed = 1;
    return failed;
}
C
    printf '.Dd January 1, 2026\n.Dt KEDGE 1\n.Os\n.Sh NAME\n' >docs/kedge.1
    printf '.Nm kedge\n.Nd a sample\n.Sh DESCRIPTION\nText.\n' >>docs/kedge.1
}
compile() { # into build/, as CMake would name it
    local folder=build/kedge_base.dir
    mkdir -p $folder
    cc -std=c11 -fPIC -Iagent/base -c agent/base/twice.c -o $folder/twice.c.o ||
        exit 1
    cat >build/compile_commands.json <<J
[
{
  "directory": "$work/tree/build",
  "command": "cc -std=c11 -I$work/tree/agent/base -o x.o -c $work/tree/agent/base/twice.c",
  "file": "$work/tree/agent/base/twice.c"
}
]
J
}

fresh
accepts "walls: a tree in order" "$lint/walls.sh" .
sed -i '1i #include <yaml.h>' agent/base/twice.c
refuses "walls: a library's header outside its wall" yaml.h "$lint/walls.sh" .
sed -i '1s/.*/# include "openssl\/ssl.h"/' agent/base/twice.c
refuses "walls: written another way" ssl.h "$lint/walls.sh" .
mkdir agent/kafka && mv agent/base/twice.c agent/kafka/kconf.c
sed -i '1s/.*/#include <librdkafka\/rdkafka.h>/' agent/kafka/kconf.c
accepts "walls: inside its wall" "$lint/walls.sh" .

fresh && compile
accepts "symbols: names that start with the module's" "$lint/symbols.sh" build
sed -i 's/^twice_of/double_of/; 1i int double_of(int number);' \
    agent/base/twice.c && compile
refuses "symbols: a stray name" double_of "$lint/symbols.sh" build
rm -r build/*
refuses "symbols: nothing to look at" "no object" "$lint/symbols.sh" build

fresh && compile
accepts "globals: constant tables alone" "$lint/globals.sh" build
sed -i 's/^static const char .const names/static const char *names/' \
    agent/base/twice.c && compile
refuses "globals: a table that can change" names "$lint/globals.sh" build
fresh && sed -i 's/^    return/    static int calls;\n    calls++;\n&/' \
    agent/base/twice.c && compile
refuses "globals: a static inside a function" calls "$lint/globals.sh" build
fresh && sed -i '3i static _Thread_local int twice_last = 7;' \
    agent/base/twice.c && sed -i 's/^    return/    twice_last++;\n&/' \
    agent/base/twice.c && compile
refuses "globals: one for each thread" twice_last "$lint/globals.sh" build
rm -r build/*
refuses "globals: nothing to look at" "no object" "$lint/globals.sh" build

fresh
accepts "depth: two folders" "$lint/depth.sh" .
mkdir agent/base/deep && echo 'int x;' >agent/base/deep/deep.c
refuses "depth: three folders" deep.c "$lint/depth.sh" .
rm -r agent/base/deep && cp agent/base/twice.c policy/twice.c
refuses "depth: a name twice" policy/twice.c "$lint/depth.sh" .

fresh
accepts "mdoc: a page in order" "$lint/mdoc.sh" .
sed -i 's/^\.Nd.*/.Xx what/' docs/kedge.1
refuses "mdoc: an unknown macro" Xx "$lint/mdoc.sh" .
rm docs/kedge.1
refuses "mdoc: no page" "no manual page" "$lint/mdoc.sh" .

fresh
accepts "format: as it should be" "$lint/format.sh" .
sed -i 's/^    return/  return/' agent/base/twice.c
refuses "format: another indent" twice.c "$lint/format.sh" .

rm -r agent/base tests/unit
for name in walls depth format; do
    refuses "$name: nothing to look at" "nothing to check" \
        "$lint/$name.sh" .
done

fresh && compile
accepts "tidy: code in order" "$lint/tidy.sh" . build
sed -i 's/2 \* number/(number) * number \/ (number - number)/' \
    agent/base/twice.c
refuses "tidy: the same on both sides" misc-redundant "$lint/tidy.sh" . build
fresh && compile
sed -i 's/(int number)$/(int number, int a, int b, int c, int d, int e, int f)/
    s/(int number);/(int number, int a, int b, int c, int d, int e, int f);/' \
    agent/base/twice.c agent/base/twice.h
refuses "tidy: seven parameters" readability-function-size \
    "$lint/tidy.sh" . build
echo '[]' >build/compile_commands.json
refuses "tidy: nothing to look at" "nothing to check" "$lint/tidy.sh" . build

fresh
accepts "wording: clean" "$lint/wording.sh" .
printf '# in /%s/main\n' work >docs/page.md
refuses "wording: somebody's path" page.md "$lint/wording.sh" .

fresh && compile
accepts "headers: alone and twice" python3 "$lint/headers.py" . build
sed -i 's/^int twice_of/size_t twice_size(void);\n&/' agent/base/twice.h
refuses "headers: needs another before it" size_t \
    python3 "$lint/headers.py" . build
fresh && compile && sed -i '/^#/d; s/^int/struct twice { int x; };\n&/' \
    agent/base/twice.h
refuses "headers: no guard" redefinition python3 "$lint/headers.py" . build
fresh && compile && cp agent/base/twice.h policy/thrice.h
refuses "headers: of a folder that is not built" thrice.h \
    python3 "$lint/headers.py" . build

fresh
accepts "numbers: in order" python3 "$lint/numbers.py" .
yes '/* more */' | head -n 150 >>agent/base/twice.h
refuses "numbers: a long header" "limit 150" python3 "$lint/numbers.py" .
fresh && yes '/* more */' | head -n 500 >>agent/base/twice.c
refuses "numbers: a long source" "limit 500" python3 "$lint/numbers.py" .
fresh && yes 'int twice_more(int number);' | head -n 9 >>agent/base/twice.h
refuses "numbers: a header that is not explained" "of comment" \
    python3 "$lint/numbers.py" .
fresh && seq -f '#include "h%g.h"' 10 >>agent/base/twice.c
refuses "numbers: too many headers" "limit 10" python3 "$lint/numbers.py" .
fresh && sed -i '/"one"/d; s/^{/&\n    static const char *const names[] = {\n    };\n/' \
    agent/base/twice.c && yes '        "row",' | head -n 99 |
    sed -i '/names\[\] = {$/r /dev/stdin' agent/base/twice.c
yes 'int more;' | head -n 99 >>tests/unit/test_twice.c
accepts "numbers: a table of rows does not count" python3 "$lint/numbers.py" .
fresh && yes '    number++;' | head -n 60 |
    sed -i '/^{/r /dev/stdin' agent/base/twice.c
refuses "numbers: a long function" "twice_of has" python3 "$lint/numbers.py" .
fresh && : >tests/unit/test_twice.c
refuses "numbers: code without a test" "of C tests" \
    python3 "$lint/numbers.py" .
rm agent/base/*
refuses "numbers: nothing to look at" "no source" python3 "$lint/numbers.py" .

fresh
printf '```yaml\nca: /etc/kedge/tls/cloud-ca.pem\n```\n' >README.md
printf '#!/bin/sh\ngrep -q "%s" "$2"\n' 'ca: .*/tls/cloud-ca.pem' >kedge
chmod +x kedge
accepts "readme: the policy is handed to the checker" "$lint/readme.sh" . ./kedge
printf '#!/bin/sh\necho refused; exit 78\n' >kedge
refuses "readme: a policy that is refused" refused "$lint/readme.sh" . ./kedge
: >README.md
refuses "readme: no policy" "no policy" "$lint/readme.sh" . ./kedge

fresh && mkdir tests/system
sed -n 's/^for case in \(.*\); do$/\1/p' "$lint/cases.sh" | tr ' ' '\n' |
    sed 's/.*/"""P&: what it shows."""/' >tests/system/test_all.py
accepts "cases: each one is named" "$lint/cases.sh" .
sed -i 's/P21:/P210:/' tests/system/test_all.py
refuses "cases: one is missing" P21 "$lint/cases.sh" .
echo 'test_p21_it_is_shown(void **state)' >tests/unit/test_twice.c
accepts "cases: a test that is called after it" "$lint/cases.sh" .

# The shape of the functions that are edited.
library() {
    rm -rf "$work/library" && mkdir -p "$work/library/src"
    cd "$work/library" || exit 1
    cat >src/rdkafka_broker.c <<'C'
static int rd_kafka_toppar_producer_serve(rd_kafka_broker_t *rkb,
                                          rd_ts_t *next_wakeup) {
        if (unlikely(!may_send)) {
                max_requests = 0;
        } else if (max_requests > 0) {
                batch_ready = rd_kafka_msgq_allow_wakeup_at(
                    &rktp->rktp_msgq, next_wakeup);
        }
        if (max_requests <= 0)
                return 0;
        return cnt;
}
C
    cat >src/rdkafka_topic.c <<'C'
rd_kafka_topic_metadata_update(rd_kafka_topic_t *rkt);
static int
rd_kafka_topic_metadata_update(rd_kafka_topic_t *rkt) {
                if (different_topic_id) {
                        rkt->rkt_topic_id = mdit->topic_id;
                }
}
C
    cat >src/rdkafka_admin.c <<'C'
rd_kafka_admin_coord_request(rd_kafka_broker_t *rkb) {
        rko = rd_kafka_enq_once_del_source_return(eonce, "coordinator request");
        if (!rko)
                return RD_KAFKA_RESP_ERR__DESTROY;

        rd_kafka_enq_once_add_source(eonce, "coordinator response");

        err = request(rkb);
}
C
    for what in reset validate; do
        cat <<C
static rd_kafka_op_res_t rd_kafka_offset_${what}_op_cb(rd_kafka_t *rk,
                                                     rd_kafka_op_t *rko) {
        rd_kafka_toppar_t *rktp = rko->rko_rktp;
        rd_kafka_toppar_lock(rktp);
        rd_kafka_offset_$what(rktp, rko->rko_u.offset_reset.reason);
        rd_kafka_toppar_unlock(rktp);
}
C
    done >src/rdkafka_offset.c
    cat >src/tinycthread.c <<'C'
int cnd_init(cnd_t *cond)
{
  return pthread_cond_init(cond, NULL) == 0 ? thrd_success : thrd_error;
}
int cnd_timedwait(cnd_t *cond, mtx_t *mtx, const struct timespec *ts)
{
  ret = pthread_cond_timedwait(cond, mtx, ts);
}
C
    cat >src/tinycthread_extra.c <<'C'
int cnd_timedwait_ms(cnd_t *cnd, mtx_t *mtx, int timeout_ms) {
                struct timeval tv;
                struct timespec ts;
                gettimeofday(&tv, NULL);
                ts.tv_sec  = tv.tv_sec;
                ts.tv_nsec = tv.tv_usec * 1000;
                ts.tv_sec += timeout_ms / 1000;
                ret                = cnd_timedwait(cnd, mtx, &ts);
}
C
    cat >src/rdkafka_fetcher.c <<'C'
int rd_kafka_broker_fetch_toppars(rd_kafka_broker_t *rkb, rd_ts_t now) {
        do {
        } while ((rktp = CIRCLEQ_LOOP_NEXT(&rkb->rkb_active_toppars, rktp,
                                           rktp_activelink)) !=
                 rkb->rkb_active_toppar_next);

        /* Update next toppar to fetch in round-robin list. */
}
C
    cat >src/rdkafka_partition.c <<'C'
static void rd_kafka_toppar_fetch_start(rd_kafka_toppar_t *rktp,
                                        rd_kafka_fetch_pos_t pos) {
        } else {
                rd_kafka_toppar_set_next_fetch_position(rktp, pos);

                rd_kafka_toppar_set_fetch_state(rktp,
                                                RD_KAFKA_TOPPAR_FETCH_ACTIVE);
        }
}
C
    cat >src/rdkafka_msgset_reader.c <<'C'
static rd_kafka_resp_err_t
rd_kafka_msgset_reader_msgs_v2(rd_kafka_msgset_reader_t *msetr);
static rd_kafka_resp_err_t
rd_kafka_msgset_reader(rd_kafka_msgset_reader_t *msetr) {
        do {
                err = reader[(int)MagicByte](msetr);
        } while (!err && rd_slice_remains(&rkbuf->rkbuf_reader) > 0);
}
static rd_kafka_resp_err_t
rd_kafka_msgset_reader_run(rd_kafka_msgset_reader_t *msetr) {
        err = rd_kafka_msgset_reader(msetr);
}
C
}
patch=$root/installers/librdkafka-patch
took() { # FILE TEXT TIMES
    accepts "edit: took in $1" test "$3" = "$(grep -c -- "$2" "src/$1")"
}
misfits() { # LABEL: refused, and nothing is changed
    rm -rf before && cp -R src before
    refuses "edit: $1" "does not fit" "$patch" .
    accepts "edit: $1: nothing is changed" diff -r before src
}
library
accepts "edit: fits" "$patch" .
took rdkafka_broker.c wakeup_before 2
took rdkafka_topic.c 'RD_KAFKA_UUID_IS_ZERO(rkt->rkt_topic_id))' 1
took rdkafka_admin.c 'add_source(eonce, "coordinator response")' 1
took rdkafka_offset.c 'rko->rko_err == RD_KAFKA_RESP_ERR__DESTROY' 2
took tinycthread.c 'pthread_condattr_setclock(&attr, CLOCK_MONOTONIC)' 1
took tinycthread.c 'pthread_cond_init(cond, &attr)' 1
took tinycthread_extra.c 'clock_gettime(CLOCK_MONOTONIC, &ts)' 1
took tinycthread_extra.c 'tv\.tv_\|timeval' 0
took rdkafka_msgset_reader.c 'rd_kafka_msgset_reader_is_full(' 3
took rdkafka_fetcher.c 'TAILQ_INSERT_TAIL(&rkb->rkb_toppars' 1
took rdkafka_partition.c 'rd_kafka_offset_validate(rktp, "fetch start")' 1
misfits "not twice"
while read -r file gone; do
    library
    grep -vF -- "$gone" "src/$file" >new
    mv new "src/$file"
    misfits "without $gone"
done <<'GONE'
rdkafka_broker.c unlikely(!may_send)
rdkafka_broker.c max_requests <= 0
rdkafka_broker.c allow_wakeup_at
rdkafka_broker.c producer_serve
rdkafka_topic.c rkt_topic_id = mdit->topic_id
rdkafka_topic.c metadata_update
rdkafka_admin.c admin_coord_request
rdkafka_admin.c coordinator request
rdkafka_admin.c coordinator response
rdkafka_offset.c offset_reset_op_cb
rdkafka_offset.c offset_validate_op_cb
rdkafka_offset.c toppar_lock
rdkafka_fetcher.c fetch_toppars
rdkafka_fetcher.c rkb->rkb_active_toppar_next);
rdkafka_fetcher.c Update next toppar
rdkafka_partition.c toppar_fetch_start
rdkafka_partition.c set_next_fetch_position
rdkafka_partition.c RD_KAFKA_TOPPAR_FETCH_ACTIVE
rdkafka_msgset_reader.c reader_msgs_v2
rdkafka_msgset_reader.c reader_run
rdkafka_msgset_reader.c err = rd_kafka_msgset_reader
rdkafka_msgset_reader.c rd_slice_remains
tinycthread.c pthread_cond_init
tinycthread.c pthread_cond_timedwait
tinycthread.c int cnd_init
tinycthread_extra.c gettimeofday
tinycthread_extra.c struct timeval
tinycthread_extra.c tv.tv_usec
tinycthread_extra.c = cnd_timedwait
tinycthread_extra.c int cnd_timedwait_ms
GONE
library
sed -i 's/^        return cnt;/        if (max_requests <= 0)\n                return 0;\n&/' \
    src/rdkafka_broker.c
misfits "two places"
while read -r more; do
    library
    echo "        $more" >src/rdkafka_more.c
    misfits "elsewhere too: $more"
done <<'MORE'
rkt->rkt_topic_id = other;
pthread_cond_init(&more, NULL);
pthread_cond_timedwait(&more, &lock, &ts);
r = cnd_timedwait(&more, &lock, &ts);
MORE
refuses "edit: no source there" "no such file" "$patch" "$work/nowhere"
library && rm src/tinycthread_extra.c
refuses "edit: a file is missing" "no such file" "$patch" .

echo "selftest: $passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 40 ]
