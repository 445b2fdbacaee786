#include "demo.h"

#include "child.h"
#include "clock.h"
#include "cluster.h"
#include "load.h"
#include "playbill.h"
#include "proof.h"
#include "reader.h"
#include "stage.h"
#include "tlsend.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define SPREAD_MS 8000 /* over which the records are produced */
#define CUT_MS 4000    /* for which the link is cut */
#define STALL_MS 60000 /* nothing arrives for so long: it will not */
#define STOP_MS 30000  /* the agent's, to drain and end */
#define DRAIN_MS 30000 /* ours, to read what is there */

enum phase {
    PHASE_WAKING,   /* a few records, until the first has arrived */
    PHASE_FLOWING,  /* until enough is under way */
    PHASE_CUT,      /* production goes on */
    PHASE_CATCHING, /* until all has arrived */
    PHASE_DONE,
};

struct play {
    const struct demo_options *options;
    struct load_plan plan;
    struct stage *stage;
    struct load *load;
    struct proof *proof;
    struct reader *reader;
    enum phase phase;
    int64_t now_ms, began_ms, flowing_ms, cut_ms, restored_ms;
    int64_t arrived, arrived_ms; /* how many, and when that last rose */
    int64_t shown_ms, shown_arrived;
    int64_t bytes_at_cut;
    struct playbill bill;
    sigset_t signals; /* that end it */
    bool interrupted; /* by one of them */
};

static int64_t
wakers(const struct play *play)
{
    return play->plan.records / 50;
}

/* How many records are due by now. */
static int64_t
due(const struct play *play)
{
    int64_t since_ms = play->now_ms - play->flowing_ms;
    int64_t records = play->plan.records;

    if (play->phase == PHASE_WAKING)
        return wakers(play);
    if (since_ms >= SPREAD_MS)
        return records;
    return wakers(play) + (records - wakers(play)) * since_ms / SPREAD_MS;
}

static void
cut(struct play *play)
{
    struct tlsend_counts counts;

    tlsend_cut(play->stage->tlsend);
    tlsend_count(play->stage->tlsend, &counts);
    play->bytes_at_cut = counts.bytes_in;
    play->cut_ms = play->now_ms;
    play->phase = PHASE_CUT;
    playbill_say(play->options->out, "the link is cut");
}

static bool
restore(struct play *play, struct err *err)
{
    struct tlsend_counts counts;

    tlsend_count(play->stage->tlsend, &counts);
    if (counts.bytes_in != play->bytes_at_cut)
        return err_set(err, ERR_NET,
            "%lld bytes came through while the link was cut",
            (long long)(counts.bytes_in - play->bytes_at_cut));
    tlsend_restore(play->stage->tlsend);
    play->restored_ms = play->now_ms;
    play->arrived_ms = play->now_ms;
    play->phase = PHASE_CATCHING;
    playbill_say(play->options->out, "the link is back");
    return true;
}

/* The only place that changes the phase. */
static bool
move_on(struct play *play, struct err *err)
{
    int64_t records = play->plan.records;

    switch (play->phase) {
    case PHASE_WAKING:
        if (play->arrived > 0) {
            play->flowing_ms = play->now_ms;
            play->phase = PHASE_FLOWING;
        }
        break;
    case PHASE_FLOWING:
        if (load_sent(play->load) >= records * 2 / 5 &&
            play->arrived >= records / 5)
            cut(play);
        break;
    case PHASE_CUT:
        if (play->now_ms - play->cut_ms >= CUT_MS)
            return restore(play, err);
        break;
    case PHASE_CATCHING:
        if (play->arrived == records && load_delivered(play->load) == records)
            play->phase = PHASE_DONE;
        break;
    case PHASE_DONE:
        break;
    }
    return true;
}

/* What ends the demo: Ctrl-C, a kill, a terminal that goes away; but none that
 * was ignored when it began (nohup), which would be queued once it is blocked. */
static void
fill_signals(sigset_t *set)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action;

    sigemptyset(set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], NULL, &action) == 0 &&
            action.sa_handler != SIG_IGN)
            sigaddset(set, numbers[i]);
}

static bool
was_interrupted(struct play *play)
{
    const struct timespec now = { 0 };

    if (sigtimedwait(&play->signals, NULL, &now) > 0)
        play->interrupted = true;
    return play->interrupted;
}

static bool
watch(struct play *play, struct err *err)
{
    if (was_interrupted(play))
        return err_set(err, ERR_IO, "interrupted");
    if (!child_runs(play->stage->agent))
        return err_set(err, ERR_IO, "the agent %s",
            child_words(play->stage->agent));
    if (play->phase != PHASE_CUT && play->now_ms - play->arrived_ms >= STALL_MS)
        return err_set(err, ERR_KAFKA,
            "%lld of %lld records arrived, and none for %d s; the agent %s",
            (long long)play->arrived, (long long)play->plan.records,
            STALL_MS / 1000, child_words(play->stage->agent));
    return true;
}

static void
show(struct play *play)
{
    const struct demo_options *options = play->options;
    struct demo_status status = { -1, -1 };
    int64_t since_ms = play->now_ms - play->shown_ms;
    struct playbill_line line = {
        .produced = load_delivered(play->load),
        .arrived = play->arrived,
        .cut = play->phase == PHASE_CUT,
    };

    if (since_ms < playbill_interval_ms(options->out))
        return;
    if (options->status != NULL)
        options->status(options->status_ctx, play->stage->socket, STAGE_FLOW,
            &status);
    line.lag =
        status.true_lag >= 0 ? status.true_lag : line.produced - line.arrived;
    line.in_flight = status.in_flight;
    line.per_s = (play->arrived - play->shown_arrived) * 1000 / since_ms;
    if (line.lag > play->bill.peak_lag)
        play->bill.peak_lag = line.lag;
    playbill_progress(options->out, &line, play->now_ms - play->began_ms);
    play->shown_ms = play->now_ms;
    play->shown_arrived = play->arrived;
    (void)child_peak_kib(play->stage->agent);
}

static bool
turn(struct play *play, struct err *err)
{
    struct proof_counts counts;

    play->now_ms = clock_mono_ms(clock_system());
    if (!load_send(play->load, due(play), err) ||
        !reader_poll(play->reader, play->proof, 20, err) || !watch(play, err))
        return false;
    proof_count(play->proof, &counts);
    if (counts.first > play->arrived)
        play->arrived_ms = play->now_ms;
    play->arrived = counts.first;
    if (counts.altered + counts.foreign + counts.reordered > 0)
        return err_set(err, ERR_KAFKA, "%s", proof_fault(play->proof, 0));
    show(play);
    return move_on(play, err);
}

static bool
open_play(struct play *play, struct err *err)
{
    const struct demo_options *options = play->options;
    struct stage *stage = stage_open(err);

    if (stage == NULL)
        return false;
    play->stage = stage;
    play->plan.records =
        options->records == 0 ? DEMO_RECORDS : options->records;
    play->plan.base_wall_ms = clock_wall_ms(clock_system());
    playbill_opening(options->out, stage, &play->plan);
    play->load = load_start(&play->plan, cluster_bootstrap(stage->plant), err);
    if (play->load == NULL)
        return false;
    play->proof = proof_new(&play->plan, err);
    if (play->proof == NULL)
        return false;
    play->reader = reader_open(stage->cloud, STAGE_PREFIX, err);
    return play->reader != NULL &&
           stage_start_agent(stage, options->program, err);
}

static void
close_play(struct play *play, bool keep)
{
    reader_close(play->reader);
    load_stop(play->load);
    proof_free(play->proof);
    stage_close(play->stage, keep);
}

static void
fill_bill(struct play *play)
{
    struct playbill *bill = &play->bill;

    bill->keep = play->options->keep;
    bill->peak_kib = child_peak_kib(play->stage->agent);
    bill->all_ms = play->now_ms - play->began_ms;
    if (play->restored_ms > 0) {
        bill->cut_ms = play->restored_ms - play->cut_ms;
        bill->catch_ms = play->now_ms - play->restored_ms;
    }
}

/* The agent ends by itself, and whatever it sent last is read, too. */
static bool
end(struct play *play, struct err *err)
{
    fill_bill(play);
    if (!play->options->keep && !child_stop(play->stage->agent, STOP_MS, err))
        return false;
    return reader_drain(play->reader, play->proof, DRAIN_MS, err);
}

static bool
judge(struct play *play, struct err *err)
{
    playbill_proof(play->options->out, play->stage, play->proof, &play->bill);
    if (proof_holds(play->proof))
        return true;
    return err_set(err, ERR_KAFKA, "%s", proof_fault(play->proof, 0));
}

static bool
perform(struct play *play, struct err *err)
{
    play->began_ms = clock_mono_ms(clock_system());
    play->arrived_ms = play->began_ms;
    play->shown_ms = play->began_ms;
    while (play->phase != PHASE_DONE) {
        if (turn(play, err))
            continue;
        if (play->arrived > 0 && !play->interrupted) {
            fill_bill(play);
            playbill_proof(play->options->out, play->stage, play->proof,
                &play->bill);
        }
        return false;
    }
    return end(play, err) && judge(play, err);
}

/* Until somebody ends it. */
static bool
linger(struct play *play, struct err *err)
{
    const struct timespec second = { .tv_sec = 1 };

    playbill_keep(play->options->out, play->stage);
    while (sigtimedwait(&play->signals, NULL, &second) <= 0)
        if (!child_runs(play->stage->agent))
            return err_set(err, ERR_IO, "the agent %s",
                child_words(play->stage->agent));
    playbill_say(play->options->out, "ending");
    return child_stop(play->stage->agent, STOP_MS, err);
}

bool
demo_run(const struct demo_options *options, struct err *err)
{
    struct play play = { .options = options };
    sigset_t before;
    bool ok, keep;

    assert(options->records == 0 || (options->records >= LOAD_RECORDS_MIN &&
                                        options->records <= LOAD_RECORDS_MAX));
    fill_signals(&play.signals);
    (void)pthread_sigmask(SIG_BLOCK, &play.signals, &before);
    ok = open_play(&play, err) && perform(&play, err) &&
         (!options->keep || linger(&play, err));
    keep = !ok && !play.interrupted; /* to look for the cause */
    if (!ok)
        err->retry = play.interrupted;
    if (keep && play.stage != NULL)
        playbill_failed(options->out, play.stage);
    close_play(&play, keep);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}
