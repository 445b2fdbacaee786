/* proof.h - what arrived, compared record by record with what was produced.
 *
 * Each record is found by its number and compared byte for byte: key, value,
 * headers, timestamp.  Within a partition the first occurrences must come in
 * the order in which they were produced.  A record that comes again, the same,
 * is a repeat: counted, and allowed.  Everything else is a fault.
 *
 * Thread: one.   Memory: a bit for each record.   Errors: ERR_MEMORY. */
#ifndef KEDGE_PROOF_H
#define KEDGE_PROOF_H

#include "load.h"

struct proof;

struct proof_counts {
    int64_t read;      /* records, all of them */
    int64_t first;     /* of them, for the first time */
    int64_t repeats;   /* again, and the same */
    int64_t altered;   /* not what was produced */
    int64_t reordered; /* for the first time, behind a later one */
    int64_t foreign;   /* never produced, or in another partition */
    int64_t missing;   /* not seen */
    int64_t bytes;     /* keys, values and headers of the first ones */
    int64_t tombstones, null_keys, headers; /* among the first ones */
};

struct proof *proof_new(const struct load_plan *plan,
    struct err *err) MUST_CHECK;
void proof_free(struct proof *proof); /* NULL is fine */

/* What was read next in its part; `offset` is for messages. */
void proof_add(struct proof *proof, const struct load_record *record,
    int64_t offset);

/* As things stand now. */
void proof_count(const struct proof *proof, struct proof_counts *counts);

/* Nothing missing, altered, reordered or foreign. */
bool proof_holds(const struct proof *proof);

/* One line for each kind of fault, with its first case; NULL behind the last.
 * Borrowed until the next call. */
const char *proof_fault(struct proof *proof, int i);

#endif
