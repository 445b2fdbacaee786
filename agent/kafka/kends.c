#include "kends.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_TIMEOUT_MS 3000
#define PAUSE_FIRST_MS 200
#define PAUSE_LAST_MS 10000
#define REFRESH_MS 1 /* the answer is taken in by the library's own thread */

struct question {
    const char *topic; /* NULL: nothing is asked */
    int32_t partition;
    uint32_t round; /* an answer of an earlier round is not ours */
    unsigned open;  /* kinds without an answer */
    unsigned asked; /* of those, the ones that are under way */
    unsigned again; /* of those, the ones that failed before */
    int64_t wall_ms;
    int tries;
    int64_t offset[KENDS_N];
};

struct asked {
    int32_t part;
    uint32_t round;
};

/* One kind of question: at most one request of it is under way.  A partition
 * without a leader may fail the whole request it is in, and one whose leader is
 * dead keeps it until its time is over.  So what failed once goes in requests
 * of its own, with a pause that new questions do not wait for; one of these
 * that failed is halved, and the next begins behind it: the others are soon
 * told. */
struct channel {
    rd_kafka_AdminOptions_t *options;
    struct asked *asked;      /* in the order of the request */
    size_t n_asked;           /* 0: none under way */
    bool again;               /* it is of questions that failed before */
    size_t n_new;             /* questions never asked yet, at most */
    size_t n_again;           /* questions to be asked again, at most */
    size_t most;              /* of the latter in one request; 0: all */
    size_t from;              /* the part with which the next of them begins */
    int64_t due_ms, pause_ms; /* of the latter */
};

struct kends {
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue;
    struct channel channels[KENDS_N];
    struct question *questions; /* by part */
    struct asked *done;
    size_t n_questions, n_done;
};

static bool
make_options(struct kends *kends, enum kends_kind kind)
{
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(kends->rk, RD_KAFKA_ADMIN_OP_LISTOFFSETS);
    char why[128];
    rd_kafka_error_t *error;

    if (options == NULL)
        return false;
    kends->channels[kind].options = options;
    (void)rd_kafka_AdminOptions_set_request_timeout(options, REQUEST_TIMEOUT_MS,
        why, sizeof why);
    rd_kafka_AdminOptions_set_opaque(options, &kends->channels[kind]);
    error = rd_kafka_AdminOptions_set_isolation_level(options,
        kind == KENDS_HIGH ? RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED
                           : RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED);
    if (error == NULL)
        return true;
    rd_kafka_error_destroy(error);
    return false;
}

struct kends *
kends_new(rd_kafka_t *rk, rd_kafka_queue_t *queue, struct err *err)
{
    struct kends *kends = calloc(1, sizeof *kends);
    bool ok = kends != NULL;

    if (ok) {
        kends->rk = rk;
        kends->queue = queue;
    }
    for (int kind = 0; ok && kind < KENDS_N; kind++)
        ok = make_options(kends, (enum kends_kind)kind);
    if (!ok) {
        err_set(err, ERR_MEMORY, "questions for offsets");
        kends_free(kends);
        return NULL;
    }
    return kends;
}

void
kends_free(struct kends *kends)
{
    if (kends == NULL)
        return;
    for (int kind = 0; kind < KENDS_N; kind++) {
        if (kends->channels[kind].options != NULL)
            rd_kafka_AdminOptions_destroy(kends->channels[kind].options);
        free(kends->channels[kind].asked);
    }
    free(kends->questions);
    free(kends->done);
    free(kends);
}

/* Room for one entry per part in every array, so that nothing grows later. */
bool
kends_room(struct kends *kends, int32_t part, struct err *err)
{
    size_t n = (size_t)part + 1;
    struct question *questions;
    struct asked *done;

    if (n <= kends->n_questions)
        return true;
    n = n < 16 ? 16 : n + n / 2;
    for (int kind = 0; kind < KENDS_N; kind++) {
        struct channel *channel = &kends->channels[kind];
        struct asked *asked = realloc(channel->asked, n * sizeof *asked);

        if (asked == NULL)
            return err_set(err, ERR_MEMORY, "questions for offsets");
        channel->asked = asked;
    }
    if ((done = realloc(kends->done, n * sizeof *done)) == NULL)
        return err_set(err, ERR_MEMORY, "questions for offsets");
    kends->done = done;
    questions = realloc(kends->questions, n * sizeof *questions);
    if (questions == NULL)
        return err_set(err, ERR_MEMORY, "questions for offsets");
    memset(questions + kends->n_questions, 0,
        (n - kends->n_questions) * sizeof *questions);
    kends->questions = questions;
    kends->n_questions = n;
    return true;
}

void
kends_drop(struct kends *kends, int32_t part)
{
    struct question *question;

    if (part < 0 || (size_t)part >= kends->n_questions)
        return;
    question = &kends->questions[part];
    if (question->topic == NULL)
        return;
    question->topic = NULL;
    question->round++;
    for (size_t i = 0; i < kends->n_done; i++)
        if (kends->done[i].part == part)
            kends->done[i--] = kends->done[--kends->n_done];
}

void
kends_ask(struct kends *kends, const struct kends_question *asked)
{
    struct question *question = &kends->questions[asked->part];

    assert(asked->part >= 0 && asked->kinds != 0);
    kends_drop(kends, asked->part);
    question->topic = asked->topic;
    question->partition = asked->partition;
    question->open = asked->kinds;
    question->asked = question->again = 0;
    question->wall_ms = asked->wall_ms;
    question->tries = asked->tries;
    for (int kind = 0; kind < KENDS_N; kind++) {
        question->offset[kind] = -1;
        if ((asked->kinds & KENDS_BIT(kind)) != 0)
            kends->channels[kind].n_new++;
    }
}

static int64_t
spec_of(const struct question *question, enum kends_kind kind)
{
    if (kind == KENDS_LOW)
        return RD_KAFKA_OFFSET_SPEC_EARLIEST;
    if (kind == KENDS_TIME)
        return question->wall_ms > 0 ? question->wall_ms : 0;
    return RD_KAFKA_OFFSET_SPEC_LATEST;
}

static void
add_to_request(struct kends *kends, enum kends_kind kind, size_t part,
    rd_kafka_topic_partition_list_t *list)
{
    struct channel *channel = &kends->channels[kind];
    struct question *question = &kends->questions[part];

    rd_kafka_topic_partition_list_add(list, question->topic,
        question->partition)
        ->offset = spec_of(question, kind);
    question->asked |= KENDS_BIT(kind);
    channel->asked[channel->n_asked].part = (int32_t)part;
    channel->asked[channel->n_asked++].round = question->round;
}

static void
send_list(struct kends *kends, enum kends_kind kind,
    rd_kafka_topic_partition_list_t *list)
{
    if (list->cnt > 0)
        rd_kafka_ListOffsets(kends->rk, list, kends->channels[kind].options,
            kends->queue);
    rd_kafka_topic_partition_list_destroy(list);
}

/* Is this kind of it to be sent? */
static bool
waits(const struct question *question, enum kends_kind kind, bool again)
{
    unsigned bit = KENDS_BIT(kind);

    return question->topic != NULL &&
           (question->open & ~question->asked & bit) != 0 &&
           ((question->again & bit) != 0) == again;
}

static void
send_new(struct kends *kends, enum kends_kind kind)
{
    struct channel *channel = &kends->channels[kind];
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new((int)channel->n_new);

    for (size_t part = 0; part < kends->n_questions; part++)
        if (waits(&kends->questions[part], kind, false))
            add_to_request(kends, kind, part, list);
    channel->n_new = 0;
    channel->again = false;
    send_list(kends, kind, list);
}

static void
send_again(struct kends *kends, enum kends_kind kind)
{
    struct channel *channel = &kends->channels[kind];
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new((int)channel->n_again);
    size_t n = kends->n_questions, from = channel->from, waiting = 0;

    for (size_t i = 0; i < n; i++) {
        size_t part = (from + i) % n;

        if (!waits(&kends->questions[part], kind, true))
            continue;
        if (channel->most > 0 && channel->n_asked == channel->most) {
            waiting++;
            continue;
        }
        add_to_request(kends, kind, part, list);
        channel->from = (part + 1) % n;
    }
    channel->n_again = waiting;
    channel->again = true;
    send_list(kends, kind, list);
}

void
kends_serve(struct kends *kends, int64_t now_ms)
{
    for (int kind = 0; kind < KENDS_N; kind++) {
        struct channel *channel = &kends->channels[kind];

        if (channel->n_new > 0 && channel->n_asked == 0)
            send_new(kends, (enum kends_kind)kind);
        if (channel->n_again > 0 && channel->n_asked == 0 &&
            now_ms >= channel->due_ms)
            send_again(kends, (enum kends_kind)kind);
    }
}

/* Starts a refresh of the topics that this client uses.  What it knows of
 * leaders, or of how many partitions there are, may be older than what the
 * cluster is, and it does not look again by itself. */
static void
refresh(rd_kafka_t *rk)
{
    const struct rd_kafka_metadata *metadata = NULL;

    if (rd_kafka_metadata(rk, 0, NULL, &metadata, REFRESH_MS) == 0)
        rd_kafka_metadata_destroy(metadata);
}

/* One partition's answer of one kind; false: it has to be asked again. */
static bool
take_answer(struct kends *kends, struct asked asked, unsigned kind,
    rd_kafka_resp_err_t code, int64_t offset)
{
    struct question *question = &kends->questions[asked.part];

    if (question->topic == NULL || question->round != asked.round)
        return true;
    question->asked &= ~KENDS_BIT(kind);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        offset = -1;
        if (question->tries == KENDS_FOR_EVER || --question->tries > 0) {
            kends->channels[kind].n_again++;
            question->again |= KENDS_BIT(kind);
            return false;
        }
    }
    question->offset[kind] = offset;
    question->open &= ~KENDS_BIT(kind);
    if (question->open == 0)
        kends->done[kends->n_done++] = asked;
    return true;
}

/* How many to ask next, and when. */
static void
plan_next(struct channel *channel, size_t n_asked, bool whole, bool good,
    int64_t now_ms)
{
    if (good && !channel->again)
        return; /* it says nothing of those that failed before */
    if (!whole)
        channel->most = n_asked > 1 ? (n_asked + 1) / 2 : 1;
    else if (channel->most > 0)
        channel->most *= 2;
    if (good)
        channel->pause_ms = 0;
    else if (channel->pause_ms == 0 || !channel->again ||
             (!whole && n_asked > 1))
        channel->pause_ms = PAUSE_FIRST_MS;
    else if ((channel->pause_ms *= 2) > PAUSE_LAST_MS)
        channel->pause_ms = PAUSE_LAST_MS;
    channel->due_ms = now_ms + channel->pause_ms;
}

/* The i-th answer; the result keeps the order of the request.  A partition
 * whose broker failed has neither an error nor an offset. */
static rd_kafka_resp_err_t
read_answer(const rd_kafka_ListOffsetsResultInfo_t *info, unsigned kind,
    int64_t *offset)
{
    const rd_kafka_topic_partition_t *answer =
        rd_kafka_ListOffsetsResultInfo_topic_partition(info);

    *offset = answer->offset;
    if (answer->err == RD_KAFKA_RESP_ERR_NO_ERROR && *offset < 0 &&
        (kind != KENDS_TIME || *offset != RD_KAFKA_OFFSET_END))
        return RD_KAFKA_RESP_ERR__PARTIAL;
    return answer->err;
}

void
kends_result(struct kends *kends, rd_kafka_event_t *event, int64_t now_ms)
{
    struct channel *channel = rd_kafka_event_opaque(event);
    unsigned kind = (unsigned)(channel - kends->channels);
    const rd_kafka_ListOffsetsResultInfo_t **infos = NULL;
    rd_kafka_resp_err_t failed = rd_kafka_event_error(event);
    size_t n = 0, n_asked = channel->n_asked;
    bool good = true;

    if (failed == RD_KAFKA_RESP_ERR_NO_ERROR)
        infos =
            rd_kafka_ListOffsets_result_infos(rd_kafka_event_ListOffsets_result(
                                                  event),
                &n);
    channel->n_asked = 0;
    for (size_t i = 0; i < n_asked; i++) {
        rd_kafka_resp_err_t code = failed;
        int64_t offset = -1;

        if (i < n)
            code = read_answer(infos[i], kind, &offset);
        else if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            code = RD_KAFKA_RESP_ERR__PARTIAL;
        good =
            take_answer(kends, channel->asked[i], kind, code, offset) && good;
    }
    plan_next(channel, n_asked, failed == RD_KAFKA_RESP_ERR_NO_ERROR, good,
        now_ms);
    if (!good)
        refresh(kends->rk);
}

bool
kends_next(struct kends *kends, struct kends_answer *answer)
{
    struct question *question;

    if (kends->n_done == 0)
        return false;
    answer->part = kends->done[--kends->n_done].part;
    question = &kends->questions[answer->part];
    memcpy(answer->offset, question->offset, sizeof answer->offset);
    question->topic = NULL;
    question->round++;
    return true;
}
