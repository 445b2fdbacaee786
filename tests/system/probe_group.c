#include "kmember.h"
#include "probe.h"

#include <stdio.h>

#define LANES 8
#define MEMBERS 2

/* One member as its flow sees it. */
struct seat {
    struct group group;
    bool has[LANES];    /* assigned, and not lost or released */
    bool wanted[LANES]; /* asked back */
    int lost, failed;
    enum group_event_kind answer; /* to the last proof */
    int64_t hint;
    int answers;
    bool quick; /* releases at once what is asked back */
};

/* Sessions that end soon. */
static void
short_configure(rd_kafka_conf_t *conf)
{
    char errstr[128];

    (void)rd_kafka_conf_set(conf, "session.timeout.ms", "6000", errstr,
        sizeof errstr);
    (void)rd_kafka_conf_set(conf, "max.poll.interval.ms", "6000", errstr,
        sizeof errstr);
    (void)rd_kafka_conf_set(conf, "heartbeat.interval.ms", "500", errstr,
        sizeof errstr);
}

static bool
sit_down(struct probe *probe, struct seat *seat)
{
    const struct kmember_options options = {
        .target = &probe->cluster,
        .agent = "probe",
        .flow = "telemetry",
        .topic = probe->name,
        .group_id = probe->name,
        .wake = &probe->wake,
        .log = probe->log,
        .watch = probe->watch,
        .configure = short_configure,
    };
    struct err err;

    *seat = (struct seat){ .quick = true };
    return kmember_open(&seat->group, &options, &err) &&
           seat->group.ops->join(seat->group.self, &err);
}

static void
stand_up(struct seat *seat)
{
    if (seat->group.ops != NULL)
        seat->group.ops->free(seat->group.self);
    seat->group.ops = NULL;
}

static void
give_back(struct seat *seat, int32_t lane)
{
    seat->has[lane] = seat->wanted[lane] = false;
    seat->group.ops->release(seat->group.self, lane);
}

static void
hear(struct seat *seat, const struct group_event *event)
{
    switch (event->kind) {
    case GROUP_IN:
    case GROUP_DOWN:
    case GROUP_UP:
        break;
    case GROUP_ASSIGNED:
        seat->has[event->lane] = true;
        break;
    case GROUP_REVOKED:
        seat->wanted[event->lane] = true;
        if (seat->quick)
            give_back(seat, event->lane);
        break;
    case GROUP_LOST:
        seat->has[event->lane] = seat->wanted[event->lane] = false;
        seat->lost++;
        break;
    case GROUP_PROVED:
    case GROUP_REFUSED:
    case GROUP_UNSURE:
        seat->answer = event->kind;
        seat->hint = event->hint;
        seat->answers++;
        break;
    case GROUP_FAILED:
        (void)fprintf(stderr, "%s\n", event->err.text);
        seat->failed++;
        break;
    }
}

static void
look(struct seat *seat)
{
    struct group_event event;

    while (seat->group.ops != NULL &&
           seat->group.ops->event(seat->group.self, &event))
        hear(seat, &event);
}

static int
count(const bool *lanes)
{
    int n = 0;

    for (int i = 0; i < LANES; i++)
        n += lanes[i] ? 1 : 0;
    return n;
}

static bool
apart(const struct seat *a, const struct seat *b)
{
    for (int i = 0; i < LANES; i++) {
        if (a->has[i] && b->has[i])
            return false;
    }
    return true;
}

/* Looks at both seats until they have so many; -1: never mind. */
static bool
until(struct probe *probe, struct seat *a, struct seat *b, int has_a, int has_b)
{
    int64_t end_ms = probe_now_ms() + PROBE_WAIT_MS;

    while (probe_now_ms() < end_ms) {
        look(a);
        look(b);
        if (!apart(a, b))
            return false;
        if ((has_a < 0 || count(a->has) == has_a) &&
            (has_b < 0 || count(b->has) == has_b))
            return true;
        wake_wait(&probe->wake, 50);
    }
    return false;
}

static enum group_event_kind
prove(struct probe *probe, struct seat *seat, struct seat *other, int lane,
    int64_t hint)
{
    int64_t end_ms = probe_now_ms() + PROBE_WAIT_MS;
    int answers = seat->answers;

    seat->group.ops->prove(seat->group.self, lane, hint);
    while (seat->answers == answers && probe_now_ms() < end_ms) {
        wake_wait(&probe->wake, 50);
        look(seat);
        look(other);
    }
    if (seat->answers != answers + 1)
        return GROUP_FAILED;
    return seat->answer;
}

static int
first_of(const struct seat *seat)
{
    for (int i = 0; i < LANES; i++) {
        if (seat->has[i])
            return i;
    }
    return -1;
}

/* Two share the lanes; what each has it can prove, with the hint that was
 * committed before, and what it has not it cannot. */
static bool
check_share(struct probe *probe)
{
    struct seat seats[MEMBERS] = { 0 };
    int mine = -1;
    bool ok = false;

    HOLDS(probe, probe_topic(probe, probe->name, LANES, NULL));
    HOLDS(probe, sit_down(probe, &seats[0]));
    HOLDS(probe, until(probe, &seats[0], &seats[1], LANES, 0));
    HOLDS(probe, prove(probe, &seats[0], &seats[1], 0, -1) == GROUP_PROVED &&
                     seats[0].hint == -1);
    HOLDS(probe, prove(probe, &seats[0], &seats[1], 0, 42) == GROUP_PROVED &&
                     seats[0].hint == 42);
    HOLDS(probe, prove(probe, &seats[0], &seats[1], 0, -1) == GROUP_PROVED &&
                     seats[0].hint == 42);
    HOLDS(probe, sit_down(probe, &seats[1]));
    HOLDS(probe, until(probe, &seats[0], &seats[1], LANES / 2, LANES / 2));
    mine = first_of(&seats[0]);
    HOLDS(probe, prove(probe, &seats[0], &seats[1], mine, 7) == GROUP_PROVED);
    HOLDS(probe, prove(probe, &seats[1], &seats[0], mine, 8) == GROUP_REFUSED);
    /* One leaves, in peace: the other has it all, with its hint. */
    seats[0].group.ops->leave(seats[0].group.self);
    HOLDS(probe, prove(probe, &seats[0], &seats[1], mine, 9) == GROUP_REFUSED);
    for (int i = 0; i < LANES; i++)
        seats[0].has[i] = false;
    HOLDS(probe, until(probe, &seats[0], &seats[1], 0, LANES));
    HOLDS(probe, prove(probe, &seats[1], &seats[0], mine, -1) == GROUP_PROVED &&
                     seats[1].hint == 7);
    HOLDS(probe, seats[0].failed + seats[1].failed == 0);
    ok = true;
out:
    stand_up(&seats[0]);
    stand_up(&seats[1]);
    return ok;
}

/* What is asked back is given late, while looking goes on: nobody has it
 * twice, nobody is thrown out, and it moves when it is released. */
static bool
check_late_release(struct probe *probe)
{
    struct seat seats[MEMBERS] = { 0 };
    int64_t end_ms = 0;
    bool ok = false;

    HOLDS(probe, probe_topic(probe, probe->name, LANES, NULL));
    HOLDS(probe, sit_down(probe, &seats[0]));
    HOLDS(probe, until(probe, &seats[0], &seats[1], LANES, 0));
    seats[0].quick = false;
    HOLDS(probe, sit_down(probe, &seats[1]));
    for (end_ms = probe_now_ms() + PROBE_WAIT_MS;
         count(seats[0].wanted) == 0 && probe_now_ms() < end_ms;) {
        look(&seats[0]);
        look(&seats[1]);
        wake_wait(&probe->wake, 50);
    }
    HOLDS(probe, count(seats[0].wanted) == LANES / 2);
    /* Longer than a session lasts. */
    for (end_ms = probe_now_ms() + 9000; probe_now_ms() < end_ms;) {
        look(&seats[0]);
        look(&seats[1]);
        wake_wait(&probe->wake, 50);
    }
    HOLDS(probe, count(seats[0].has) == LANES && count(seats[1].has) == 0);
    HOLDS(probe, seats[0].lost == 0);
    for (int i = 0; i < LANES; i++) {
        if (seats[0].wanted[i])
            give_back(&seats[0], i);
    }
    HOLDS(probe, until(probe, &seats[0], &seats[1], LANES / 2, LANES / 2));
    HOLDS(probe, seats[0].lost + seats[1].lost == 0);
    ok = true;
out:
    stand_up(&seats[0]);
    stand_up(&seats[1]);
    return ok;
}

/* A member that did not look for too long has lost its lanes to the other; it
 * cannot prove them, whether it knows it already or not, and comes back. */
static bool
check_zombie(struct probe *probe)
{
    struct seat seats[MEMBERS] = { 0 };
    struct seat nobody = { 0 };
    int lane = -1;
    bool ok = false;

    HOLDS(probe, probe_topic(probe, probe->name, LANES, NULL));
    HOLDS(probe, sit_down(probe, &seats[0]));
    HOLDS(probe, sit_down(probe, &seats[1]));
    HOLDS(probe, until(probe, &seats[0], &seats[1], LANES / 2, LANES / 2));
    lane = first_of(&seats[0]);
    HOLDS(probe, until(probe, &nobody, &seats[1], -1, LANES));
    seats[0].answers = 0;
    seats[0].group.ops->prove(seats[0].group.self, lane, 1);
    while (seats[0].answers == 0) {
        look(&seats[0]);
        wake_wait(&probe->wake, 50);
    }
    HOLDS(probe, seats[0].answer == GROUP_REFUSED);
    for (int i = 0; i < LANES; i++)
        HOLDS(probe, !(seats[0].has[i] && seats[1].has[i]));
    HOLDS(probe, seats[0].lost == LANES / 2);
    HOLDS(probe, until(probe, &seats[0], &seats[1], LANES / 2, LANES / 2));
    lane = first_of(&seats[0]);
    HOLDS(probe, prove(probe, &seats[0], &seats[1], lane, 1) == GROUP_PROVED);
    ok = true;
out:
    stand_up(&seats[0]);
    stand_up(&seats[1]);
    return ok;
}

const struct probe_check probe_group[] = {
    { "share", check_share },
    { "late-release", check_late_release },
    { "zombie", check_zombie },
    { NULL, NULL },
};
