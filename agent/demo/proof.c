#include "proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum fault { ALTERED, REORDERED, FOREIGN, MISSING, N_FAULTS };

static const char *const fault_names[N_FAULTS] = {
    [ALTERED] = "altered",
    [REORDERED] = "out of order",
    [FOREIGN] = "never produced",
    [MISSING] = "missing",
};

struct proof {
    struct load_plan plan;
    struct proof_counts counts;
    int64_t highest[LOAD_PARTS]; /* number, of those seen; -1 */
    char cases[N_FAULTS][160];   /* the first of each kind */
    char line[256];
    unsigned char seen[]; /* a bit for each number */
};

struct proof *
proof_new(const struct load_plan *plan, struct err *err)
{
    struct proof *proof =
        calloc(1, sizeof *proof + (size_t)plan->records / 8 + 1);

    if (proof == NULL) {
        err_set(err, ERR_MEMORY, "proof");
        return NULL;
    }
    proof->plan = *plan;
    for (int i = 0; i < LOAD_PARTS; i++)
        proof->highest[i] = -1;
    return proof;
}

void
proof_free(struct proof *proof)
{
    free(proof);
}

static bool
was_seen(const struct proof *proof, int64_t number)
{
    return (proof->seen[number / 8] >> (number % 8) & 1) != 0;
}

static int64_t *
fault_count(struct proof_counts *counts, enum fault fault)
{
    switch (fault) {
    case ALTERED:
        return &counts->altered;
    case REORDERED:
        return &counts->reordered;
    case FOREIGN:
        return &counts->foreign;
    case MISSING:
    case N_FAULTS:
        break;
    }
    return &counts->missing;
}

static void
note(struct proof *proof, enum fault fault, const struct load_record *record,
    int64_t offset, const char *what)
{
    if ((*fault_count(&proof->counts, fault))++ > 0)
        return;
    (void)snprintf(proof->cases[fault], sizeof proof->cases[fault],
        "%s partition %d offset %lld, record %lld%s",
        load_topic_name(load_topic(record->part)), load_partition(record->part),
        (long long)offset,
        (long long)(record->timestamp_wall_ms - proof->plan.base_wall_ms),
        what);
}

/* Null is null, and empty is empty. */
static bool
same_bytes(const void *a, size_t a_len, const void *b, size_t b_len)
{
    if ((a == NULL) != (b == NULL) || a_len != b_len)
        return false;
    return a == NULL || a_len == 0 || memcmp(a, b, a_len) == 0;
}

static bool
same_headers(const struct load_record *a, const struct load_record *b)
{
    if (a->n_headers != b->n_headers)
        return false;
    for (size_t i = 0; i < a->n_headers; i++) {
        const struct load_header *x = &a->headers[i], *y = &b->headers[i];

        if (strcmp(x->name, y->name) != 0 ||
            !same_bytes(x->value, x->len, y->value, y->len))
            return false;
    }
    return true;
}

/* NULL when they are the same. */
static const char *
difference(const struct load_record *want, const struct load_record *got)
{
    if (!same_bytes(want->key, want->key_len, got->key, got->key_len))
        return ": the key differs";
    if (!same_bytes(want->value, want->value_len, got->value, got->value_len))
        return ": the value differs";
    if (!same_headers(want, got))
        return ": the headers differ";
    return NULL;
}

static void
count_first(struct proof *proof, const struct load_record *record)
{
    struct proof_counts *counts = &proof->counts;

    counts->first++;
    counts->bytes += (int64_t)load_bytes(record);
    counts->tombstones += record->value == NULL;
    counts->null_keys += record->key == NULL;
    counts->headers += (int64_t)record->n_headers;
}

void
proof_add(struct proof *proof, const struct load_record *record, int64_t offset)
{
    int64_t number = record->timestamp_wall_ms - proof->plan.base_wall_ms;
    int64_t *highest = &proof->highest[record->part];
    struct load_room room;
    struct load_record want;
    const char *differs;

    proof->counts.read++;
    if (number < 0 || number >= proof->plan.records ||
        number % LOAD_PARTS != record->part) {
        note(proof, FOREIGN, record, offset, "");
        return;
    }
    load_make(&proof->plan, number, &room, &want);
    if ((differs = difference(&want, record)) != NULL) {
        note(proof, ALTERED, record, offset, differs);
        return;
    }
    if (was_seen(proof, number)) {
        proof->counts.repeats++;
        return;
    }
    proof->seen[number / 8] |= (unsigned char)(1u << (number % 8));
    count_first(proof, record);
    if (number < *highest)
        note(proof, REORDERED, record, offset, " came behind a later one");
    else
        *highest = number;
}

void
proof_count(const struct proof *proof, struct proof_counts *counts)
{
    *counts = proof->counts;
    counts->missing = proof->plan.records - counts->first;
}

bool
proof_holds(const struct proof *proof)
{
    struct proof_counts counts;

    proof_count(proof, &counts);
    return counts.missing == 0 && counts.altered == 0 &&
           counts.reordered == 0 && counts.foreign == 0;
}

static void
find_missing(struct proof *proof)
{
    int64_t number = 0;
    int part;

    while (number < proof->plan.records - 1 && was_seen(proof, number))
        number++;
    part = (int)(number % LOAD_PARTS);
    (void)snprintf(proof->cases[MISSING], sizeof proof->cases[MISSING],
        "%s partition %d, record %lld", load_topic_name(load_topic(part)),
        load_partition(part), (long long)number);
}

const char *
proof_fault(struct proof *proof, int i)
{
    struct proof_counts counts;

    proof_count(proof, &counts);
    for (int fault = 0; fault < N_FAULTS; fault++) {
        int64_t n = *fault_count(&counts, (enum fault)fault);

        if (n == 0 || i-- > 0)
            continue;
        if (fault == MISSING)
            find_missing(proof);
        (void)snprintf(proof->line, sizeof proof->line,
            "%lld records %s, the first: %s", (long long)n, fault_names[fault],
            proof->cases[fault]);
        return proof->line;
    }
    return NULL;
}
