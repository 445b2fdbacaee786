/* kmake.h - topics of one cluster are made, grown, and asked for their
 * settings: the calls that block.
 *
 * Thread: one worker.  A call ends early, as unanswered, when its job is
 *         cancelled.
 * Memory: settings are the caller's; kmake_settings_clear().
 * Errors: false with err when the cluster did not answer; what it said about
 *         one topic stands with that topic. */
#ifndef KEDGE_KMAKE_H
#define KEDGE_KMAKE_H

#include "kadmin.h"

/* One topic's settings. */
struct kmake_setting {
    const char *name, *value;
    bool own; /* no default: a new topic gets it too */
};

struct kmake_settings {
    const char *topic; /* borrowed */
    size_t n;
    struct kmake_setting *list;
    rd_kafka_resp_err_t code; /* UNSUPPORTED_FEATURE: of a broker without */
    struct err err;
};

/* Asks for all settings of the topics named; what is in there is replaced. */
bool kmake_settings_ask(struct kadmin *admin, const struct kjob *job,
    struct kmake_settings *settings, size_t n, struct err *err) MUST_CHECK;
/* The value; NULL: not told. */
const char *kmake_settings_get(const struct kmake_settings *settings,
    const char *name);
void kmake_settings_clear(struct kmake_settings *settings);

/* A topic to be made, or to be grown. */
struct kmake_spec {
    const char *topic;            /* borrowed, like the list */
    int32_t partitions, replicas; /* replicas -1: the broker's default */
    const struct kmake_setting *list;
    size_t n;
    rd_kafka_resp_err_t code; /* the answer */
    struct err err;
};

/* One request for all.  Only settings that are `own` are set. */
bool kmake_topics(struct kadmin *admin, const struct kjob *job,
    struct kmake_spec *specs, size_t n, struct err *err) MUST_CHECK;
/* The same, to `partitions`; nothing else of a spec matters. */
bool kmake_grow(struct kadmin *admin, const struct kjob *job,
    struct kmake_spec *specs, size_t n, struct err *err) MUST_CHECK;

#endif
