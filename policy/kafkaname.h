/* kafkaname.h - what a setting is called by those who come from Kafka.
 *
 * Java's clients, librdkafka and MirrorMaker 2 have names of their own for
 * brokers, TLS, SASL and topics.  Where kedge has another word, a key that is
 * one of theirs is answered with ours, and not with a list of all keys.
 *
 * Thread: any; constants.   Memory: none. */
#ifndef KEDGE_KAFKANAME_H
#define KEDGE_KAFKANAME_H

struct kafkaname {
    const char *theirs; /* a '*' at its end: any that begins so */
    const char *place;  /* "clusters.NAME.tls"; NULL: kedge has no such
                         * setting, and `form` says why */
    const char *key;    /* ours, there */
    const char *form;   /* how it is written, where that is otherwise; or
                         * NULL */
};

/* NULL: it is none of theirs.  What MirrorMaker 2 puts in front ("ALIAS.",
 * "source.cluster.", "producer.") is passed over, and so are capitals and the
 * difference between '.', '_' and '-'. */
const struct kafkaname *kafkaname_find(const char *key);

/* All of them, the end has theirs NULL. */
const struct kafkaname *kafkaname_all(void);

#endif
