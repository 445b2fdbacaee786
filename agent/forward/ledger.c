#include "ledger.h"

#include "digest.h"
#include "json.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum form {
    FORM_NAME,  /* a text that must be there */
    FORM_TEXT,  /* a text; left out when it is empty */
    FORM_INT32, /* a number */
    FORM_INT64, /* digits in a text */
    FORM_HEX64, /* sixteen hexadecimal digits in a text */
};

/* One member of a value.  The reader and the writer walk the same rows. */
struct field {
    const char *name;
    enum form form;
    size_t at, size;
    int64_t min;
};

#define AT(type, member) \
    offsetof(struct type, member), sizeof(((struct type *)NULL)->member)

static const struct field header_fields[] = {
    { "format", FORM_INT32, AT(ledger_header, format), 1 },
    { "lanes", FORM_INT32, AT(ledger_header, lanes), 1 },
    { "source", FORM_NAME, AT(ledger_header, source_cluster_id), 0 },
    { "ledger", FORM_TEXT, AT(ledger_header, ledger_topic_id), 0 },
    { "flow", FORM_NAME, AT(ledger_header, flow), 0 },
    { "from", FORM_NAME, AT(ledger_header, from), 0 },
    { "to", FORM_NAME, AT(ledger_header, to), 0 },
    { "rename", FORM_NAME, AT(ledger_header, rename), 0 },
    { "delivery", FORM_NAME, AT(ledger_header, delivery), 0 },
    { "fingerprint", FORM_HEX64, AT(ledger_header, fingerprint), 0 },
    { "selection", FORM_TEXT, AT(ledger_header, selection), 0 },
    { "first_start", FORM_INT64, AT(ledger_header, first_start_wall_ms), 0 },
    { "changed_start", FORM_INT64, AT(ledger_header, changed_start_wall_ms),
        0 },
};

static const struct field claim_fields[] = {
    { "nonce", FORM_NAME, AT(ledger_claim, nonce), 0 },
    { "agent", FORM_TEXT, AT(ledger_claim, agent), 0 },
    { "time", FORM_INT64, AT(ledger_claim, wall_ms), 0 },
};

static const struct field entry_fields[] = {
    { "id", FORM_TEXT, AT(ledger_entry, topic_id), 0 },
    { "epoch", FORM_INT32, AT(ledger_entry, leader_epoch), -1 },
    { "target", FORM_TEXT, AT(ledger_entry, target_topic), 0 },
    { "target_id", FORM_TEXT, AT(ledger_entry, target_topic_id), 0 },
    { "target_partition", FORM_INT32, AT(ledger_entry, target_partition), 0 },
    { "target_offset", FORM_INT64, AT(ledger_entry, target_offset), -1 },
    { "records", FORM_INT64, AT(ledger_entry, records), 0 },
    { "bytes", FORM_INT64, AT(ledger_entry, bytes), 0 },
    { "term", FORM_INT64, AT(ledger_entry, term), -1 },
    { "agent", FORM_TEXT, AT(ledger_entry, agent), 0 },
    { "time", FORM_INT64, AT(ledger_entry, wall_ms), 0 },
    { "idle", FORM_TEXT, AT(ledger_entry, idle), 0 },
};

static const struct field mark_fields[] = {
    { "entries", FORM_INT64, AT(ledger_mark, entries), 0 },
};

#define ROWS(fields) (fields), sizeof(fields) / sizeof((fields)[0])

/* By enum ledger_kind.  All members of the union begin where it begins. */
static const struct kind {
    const char *name;
    const char *key; /* its one member, the lane; NULL: topic and partition */
    size_t lane_at;
    const struct field *fields;
    size_t n_fields;
} kinds[] = {
    [LEDGER_HEADER] = { "header", "lane", offsetof(struct ledger_header, lane),
        ROWS(header_fields) },
    [LEDGER_CLAIM] = { "claim", "claim", offsetof(struct ledger_claim, lane),
        ROWS(claim_fields) },
    [LEDGER_ENTRY] = { "entry", NULL, 0, ROWS(entry_fields) },
    [LEDGER_MARK] = { "mark", "snapshot", offsetof(struct ledger_mark, lane),
        ROWS(mark_fields) },
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

static const char *const start_names[] = {
    [START_EARLIEST] = "earliest",
    [START_LATEST] = "latest",
    [START_TIME] = "time",
};

#define N_STARTS (sizeof start_names / sizeof start_names[0])

static int32_t
lane_of(const struct ledger_record *record)
{
    int32_t lane;

    memcpy(&lane, (const char *)&record->header + kinds[record->kind].lane_at,
        sizeof lane);
    return lane;
}

static void
put_field(struct json *json, const struct field *field, const char *place)
{
    uint64_t bits;
    int64_t number;
    int32_t small;
    char hex[17];

    switch (field->form) {
    case FORM_NAME:
    case FORM_TEXT:
        if (place[0] != '\0' || field->form == FORM_NAME)
            json_put_text(json, field->name, place);
        break;
    case FORM_INT32:
        memcpy(&small, place, sizeof small);
        json_put_int(json, field->name, small);
        break;
    case FORM_INT64:
        memcpy(&number, place, sizeof number);
        json_put_text64(json, field->name, number);
        break;
    case FORM_HEX64:
        memcpy(&bits, place, sizeof bits);
        snprintf(hex, sizeof hex, "%016llx", (unsigned long long)bits);
        json_put_text(json, field->name, hex);
        break;
    }
}

/* Frees the tree. */
static bool
render(char *text, size_t size, size_t *len, struct json *json, struct err *err)
{
    char *made = json_render(json, len);
    bool fits = made != NULL && *len < size;

    if (fits)
        memcpy(text, made, *len + 1);
    else if (made == NULL)
        err_set(err, ERR_MEMORY, "ledger record");
    else
        err_set(err, ERR_KAFKA, "ledger record: %zu bytes do not fit into %zu",
            *len, size - 1);
    free(made);
    json_free(json);
    return fits;
}

static bool
encode_key(struct ledger_bytes *bytes, const struct ledger_record *record,
    struct err *err)
{
    const struct kind *kind = &kinds[record->kind];
    struct json *json = json_new_object();

    if (kind->key != NULL) {
        json_put_int(json, kind->key, lane_of(record));
    } else {
        json_put_text(json, "topic", record->entry.topic);
        json_put_int(json, "partition", record->entry.partition);
    }
    return render(bytes->key, sizeof bytes->key, &bytes->key_len, json, err);
}

/* Where a partition is: an offset, or how its start is to be found. */
static void
put_position(struct json *json, const struct ledger_entry *entry)
{
    if (entry->next_offset != LEDGER_UNRESOLVED) {
        json_put_text64(json, "next", entry->next_offset);
        return;
    }
    json_put_text(json, "start", start_names[entry->start]);
    json_put_text64(json, "since", entry->start_wall_ms);
}

bool
ledger_encode(struct ledger_bytes *bytes, const struct ledger_record *record,
    struct err *err)
{
    const struct kind *kind = &kinds[record->kind];
    const char *place = (const char *)&record->header;
    struct json *json;

    assert(!record->tombstone || record->kind == LEDGER_ENTRY);
    if (!encode_key(bytes, record, err))
        return false;
    bytes->value[0] = '\0';
    bytes->value_len = 0;
    if (record->tombstone)
        return true;
    json = json_new_object();
    if (record->kind == LEDGER_ENTRY)
        put_position(json, &record->entry);
    for (size_t i = 0; i < kind->n_fields; i++)
        put_field(json, &kind->fields[i], place + kind->fields[i].at);
    return render(bytes->value, sizeof bytes->value, &bytes->value_len, json,
        err);
}

static bool
read_text(char *place, size_t size, const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);

    if (len >= size)
        return false;
    if (len > 0)
        memcpy(place, text, len);
    memset(place + len, 0, size - len);
    return true;
}

static bool
read_hex(char *place, const char *text)
{
    unsigned long long bits;

    if (text == NULL || strlen(text) != 16 ||
        strspn(text, "0123456789abcdef") != 16)
        return false;
    bits = strtoull(text, NULL, 16);
    memcpy(place, &bits, sizeof(uint64_t));
    return true;
}

static bool
read_number(const struct field *field, char *place, const struct json *json)
{
    int64_t number;
    int32_t small;

    if (!json_get_int(json, field->name, &number) || number < field->min)
        return false;
    if (field->form == FORM_INT64) {
        memcpy(place, &number, sizeof number);
        return true;
    }
    if (number > INT32_MAX)
        return false;
    small = (int32_t)number;
    memcpy(place, &small, sizeof small);
    return true;
}

static bool
read_field(const struct field *field, char *place, const struct json *json)
{
    const char *text = json_get_text(json, field->name);

    switch (field->form) {
    case FORM_NAME:
        return text != NULL && text[0] != '\0' &&
               read_text(place, field->size, text);
    case FORM_TEXT: /* absent is fine, another type is not */
        return (text != NULL || json_get(json, field->name) == NULL) &&
               read_text(place, field->size, text);
    case FORM_INT32:
    case FORM_INT64:
        return read_number(field, place, json);
    case FORM_HEX64:
        return read_hex(place, text);
    }
    return false;
}

static bool
read_position(struct ledger_entry *entry, const struct json *json,
    struct err *err)
{
    const char *start = json_get_text(json, "start");
    bool symbolic = json_get(json, "start") != NULL;
    size_t i = 0;

    if (symbolic == (json_get(json, "next") != NULL))
        return err_set(err, ERR_KAFKA, "needs one of 'next' and 'start'");
    if (!symbolic) {
        if (!json_get_int(json, "next", &entry->next_offset) ||
            entry->next_offset < 0)
            return err_set(err, ERR_KAFKA, "'next' is not an offset");
        return true;
    }
    while (
        i < N_STARTS && (start == NULL || strcmp(start, start_names[i]) != 0))
        i++;
    if (i == N_STARTS)
        return err_set(err, ERR_KAFKA, "'start' is not a known word");
    if (!json_get_int(json, "since", &entry->start_wall_ms))
        return err_set(err, ERR_KAFKA, "'since' is not a time");
    entry->start = (enum start)i;
    entry->next_offset = LEDGER_UNRESOLVED;
    return true;
}

static bool
decode_value(struct ledger_record *record, const struct json *json,
    struct err *err)
{
    const struct kind *kind = &kinds[record->kind];
    char *place = (char *)&record->header;
    int64_t format;

    if (record->kind == LEDGER_HEADER &&
        json_get_int(json, "format", &format) && format > LEDGER_FORMAT)
        return err_set(err, ERR_KAFKA,
            "format %lld was written by a newer kedge, this one reads up to %d",
            (long long)format, LEDGER_FORMAT);
    if (record->kind == LEDGER_ENTRY &&
        !read_position(&record->entry, json, err))
        return false;
    for (size_t i = 0; i < kind->n_fields; i++) {
        const struct field *field = &kind->fields[i];

        if (!read_field(field, place + field->at, json))
            return err_set(err, ERR_KAFKA, "'%s' is missing or wrong",
                field->name);
    }
    return true;
}

static bool
read_lane(struct ledger_record *record, const struct json *json)
{
    const struct kind *kind = &kinds[record->kind];
    const struct field lane = { kind->key, FORM_INT32, kind->lane_at,
        sizeof(int32_t), 0 };

    return read_number(&lane, (char *)&record->header + lane.at, json);
}

static bool
read_partition(struct ledger_entry *entry, const struct json *json)
{
    static const struct field fields[] = {
        { "topic", FORM_NAME, AT(ledger_entry, topic), 0 },
        { "partition", FORM_INT32, AT(ledger_entry, partition), 0 },
    };

    return read_field(&fields[0], (char *)entry + fields[0].at, json) &&
           read_field(&fields[1], (char *)entry + fields[1].at, json);
}

/* The same key has always the same bytes, or compaction would keep two. */
static bool
is_own_writing(const struct ledger_record *record, const void *key, size_t len)
{
    struct ledger_bytes bytes;
    struct err ignored;

    return encode_key(&bytes, record, &ignored) && bytes.key_len == len &&
           memcmp(bytes.key, key, len) == 0;
}

static bool
decode_key(struct ledger_record *record, const void *key, size_t len,
    struct err *err)
{
    struct json *json = json_parse(key, len, err);
    bool known = false;

    if (json == NULL)
        return false;
    for (size_t i = 0; i < N_KINDS && !known; i++) {
        record->kind = (enum ledger_kind)i;
        known = kinds[i].key != NULL ? read_lane(record, json)
                                     : read_partition(&record->entry, json);
    }
    json_free(json);
    if (!known || !is_own_writing(record, key, len))
        return err_set(err, ERR_KAFKA, "no key of a kind that is known");
    return true;
}

static bool
refuse(struct err *err, const void *key, size_t key_len)
{
    int shown = key_len < 120 ? (int)key_len : 120;

    err->kind = ERR_KAFKA; /* the parser does not know whose text it was */
    return err_wrap(err, "ledger record with key '%.*s'",
        key == NULL ? 0 : shown, key == NULL ? "" : (const char *)key);
}

bool
ledger_decode(struct ledger_record *record, const void *key, size_t key_len,
    const void *value, size_t value_len, struct err *err)
{
    struct json *json;
    bool ok;

    memset(record, 0, sizeof *record);
    if (key == NULL) {
        err_set(err, ERR_KAFKA, "no key");
        return refuse(err, key, key_len);
    }
    if (!decode_key(record, key, key_len, err))
        return refuse(err, key, key_len);
    if (value == NULL && record->kind == LEDGER_ENTRY) {
        record->tombstone = true;
        return true;
    }
    if (value == NULL) {
        err_set(err, ERR_KAFKA, "a %s was deleted", kinds[record->kind].name);
        return refuse(err, key, key_len);
    }
    json = json_parse(value, value_len, err);
    ok = json != NULL && decode_value(record, json, err);
    json_free(json);
    return ok || refuse(err, key, key_len);
}

bool
ledger_decode_key(struct ledger_record *record, const void *key, size_t len)
{
    struct err ignored;

    memset(record, 0, sizeof *record);
    return key != NULL && decode_key(record, key, len, &ignored);
}

bool
ledger_names_lane(const struct ledger_record *record, int32_t lane)
{
    return kinds[record->kind].key == NULL || lane_of(record) == lane;
}

/* Said of a whole flow: it is held. */
#define WAY_ON ": undo that in the policy, or forward by a flow of another name"

bool
ledger_header_fits(const struct ledger_header *found,
    const struct ledger_header *ours, struct err *err)
{
    const struct {
        const char *what, *found, *ours;
        bool may_be_untold;
    } texts[] = {
        { "source cluster", found->source_cluster_id, ours->source_cluster_id,
            false },
        { "ledger topic", found->ledger_topic_id, ours->ledger_topic_id, true },
        { "flow", found->flow, ours->flow, false },
        { "name of the source cluster", found->from, ours->from, false },
        { "name of the target cluster", found->to, ours->to, false },
        { "naming", found->rename, ours->rename, false },
        { "delivery", found->delivery, ours->delivery, false },
    };

    if (found->lanes != ours->lanes)
        return err_set(err, ERR_CONFIG,
            "the ledger belongs to another number of lanes: %d, and ours is "
            "%d" WAY_ON,
            found->lanes, ours->lanes);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].may_be_untold &&
            (texts[i].found[0] == '\0' || texts[i].ours[0] == '\0'))
            continue;
        if (strcmp(texts[i].found, texts[i].ours) != 0)
            return err_set(err, ERR_CONFIG,
                "the ledger belongs to another %s: '%.40s', and ours is "
                "'%.40s'" WAY_ON,
                texts[i].what, texts[i].found, texts[i].ours);
    }
    return true;
}

int32_t
ledger_lane(const char *topic, int32_t partition, int32_t lanes)
{
    uint64_t hash = digest_xxh64(topic, strlen(topic));

    assert(partition >= 0 && lanes > 0);
    return (int32_t)((hash + 5 * (uint64_t)partition) % (uint64_t)lanes);
}
