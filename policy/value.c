#include "value.h"

#include "format.h"
#include "nearest.h"
#include "redact.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* What each form has to look like; the code that says it does not. */
static const struct {
    bool (*fits)(const char *text);
    const char *code, *need;
} forms[FORM_N] = {
    [FORM_NAME] = { format_is_name, "KP029",
        "a name of 1 to 40 of a-z, 0-9 and '-'" },
    [FORM_WORD] = { format_is_name, "KP029",
        "a word of 1 to 40 of a-z, 0-9 and '-'" },
    [FORM_ADDRESS] = { format_is_address, "KP035", "host:port" },
    [FORM_NETWORK] = { format_is_network, "KP037",
        "a network with its length, as 192.0.2.0/24" },
    [FORM_PATH] = { format_is_path, "KP038", "a path that starts with '/'" },
    [FORM_SECRET_PATH] = { format_is_path, "KP038",
        "a path that starts with '/'" },
    [FORM_RATIO] = { format_is_ratio, "KP026", "a number, as 1.8" },
    [FORM_DATE] = { format_is_date, "KP036", "a date, as 2026-11-30" },
};

static bool
pick(const char *const *words, const char *text, unsigned *at)
{
    for (*at = 0; words != NULL && words[*at] != NULL; (*at)++)
        if (strcmp(words[*at], text) == 0)
            return true;
    return false;
}

static void
join(const char *const *words, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; words[i] != NULL && used < size; i++) {
        int n = snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "",
            words[i]);

        used += n > 0 ? (size_t)n : 0;
    }
}

bool
value_is_later(const struct field *field, const struct yaml *node)
{
    unsigned i = 0;

    return node != NULL && node->kind == YAML_TEXT &&
           pick(field->later, node->text, &i);
}

/* The word that is meant, though it is cut short or goes on. */
static const char *
near_word(const char *text, const char *const *words)
{
    const char *near = nearest_word(text, words);

    for (; near == NULL && *words != NULL; words++) {
        size_t len = strlen(text);

        if (len > strlen(*words))
            len = strlen(*words);
        if (len >= 2 && strncasecmp(text, *words, len) == 0)
            near = *words;
    }
    return near;
}

static bool
refuse_choice(struct findings *found, const struct field *field,
    const struct yaml *node)
{
    char words[256];
    const char *near = near_word(node->text, field->choices);

    if (value_is_later(field, node)) {
        findings_add(found, "KP030", SEVERITY_REFUSE, node->at,
            "%s: %s is not in this version", field->key, node->text);
        findings_remedy(found, "%s: %s", field->key, field->choices[0]);
        return false;
    }
    join(field->choices, words, sizeof words);
    findings_add(found, "KP024", SEVERITY_REFUSE, node->at,
        "%s: '%.60s' is not one of: %s", field->key,
        field->form == FORM_NEAR_SECRET ? "..." : node->text, words);
    if (near != NULL)
        findings_remedy(found, "%s: %s", field->key, near);
    return false;
}

static bool
read_choice(struct findings *found, const struct field *field,
    const struct yaml *node, void *at)
{
    unsigned i = 0;

    if (!pick(field->choices, node->text, &i))
        return refuse_choice(found, field, node);
    if (field->type == FIELD_ENUM && field->fallback == NULL)
        i++; /* 0 is for absent */
    if (field->type == FIELD_ENUM)
        memcpy(at, &i, sizeof i);
    else
        memcpy(at, &field->choices[i], sizeof field->choices[i]);
    return true;
}

static bool
read_bool(struct findings *found, const struct field *field,
    const struct yaml *node, void *at)
{
    bool yes = strcmp(node->text, "true") == 0;

    if (!yes && strcmp(node->text, "false") != 0) {
        findings_add(found, "KP028", SEVERITY_REFUSE, node->at,
            "%s: '%.60s' is neither true nor false", field->key, node->text);
        findings_remedy(found, "%s: true\n%s: false", field->key, field->key);
        return false;
    }
    memcpy(at, &yes, sizeof yes);
    return true;
}

static void
number_text(const struct field *field, int64_t number, char *text, size_t size)
{
    if (field->nothing != NULL && number == 0)
        snprintf(text, size, "%s", field->nothing);
    else if (field->type == FIELD_MS)
        format_duration_text(text, size, number);
    else if (field->type == FIELD_BYTES)
        format_bytes_text(text, size, number);
    else
        snprintf(text, size, "%lld", (long long)number);
}

/* What was most likely meant; false when nothing was. */
static bool
guess_number(const struct field *field, const char *text, char *guess)
{
    if (field->nothing != NULL && strcmp(text, "0") == 0) {
        (void)snprintf(guess, FORMAT_TEXT_SIZE, "%s", field->nothing);
        return true;
    }
    if (field->type == FIELD_MS)
        return format_duration_guess(guess, FORMAT_TEXT_SIZE, text, field->min,
            field->max);
    return field->type == FIELD_BYTES &&
           format_bytes_guess(guess, FORMAT_TEXT_SIZE, text, field->min,
               field->max);
}

static bool
refuse_number(struct findings *found, const struct field *field,
    const struct yaml *node, enum format_result result)
{
    bool is_ms = field->type == FIELD_MS;
    const char *units = is_ms ? "ms s m h d" : "B KiB MiB GiB kB MB GB";
    char guess[FORMAT_TEXT_SIZE];

    if (result == FORMAT_NO_UNIT)
        findings_add(found, "KP025", SEVERITY_REFUSE, node->at,
            "%s: '%.60s' has no unit", field->key, node->text);
    else
        findings_add(found, "KP026", SEVERITY_REFUSE, node->at,
            "%s: '%.60s' is not %s", field->key, node->text,
            is_ms                        ? "a duration, as 30s or 72h"
            : field->type == FIELD_BYTES ? "a size, as 64MiB"
                                         : "a whole number");
    if (guess_number(field, node->text, guess))
        findings_remedy(found, "%s: %s    # units: %s", field->key, guess,
            units);
    else if (field->type != FIELD_INT)
        findings_remedy(found, "the units are %s", units);
    return false;
}

static bool
read_number(struct findings *found, const struct field *field,
    const struct yaml *node, void *at)
{
    enum format_result result = FORMAT_FITS;
    char min[FORMAT_TEXT_SIZE], max[FORMAT_TEXT_SIZE];
    int64_t number = 0;

    if (field->nothing != NULL && strcmp(node->text, field->nothing) == 0) {
        memcpy(at, &number, sizeof number);
        return true;
    }
    if (field->type == FIELD_MS)
        result = format_duration(node->text, &number);
    else if (field->type == FIELD_BYTES)
        result = format_bytes(node->text, &number);
    else
        result = format_int(node->text, &number);
    if (result != FORMAT_FITS)
        return refuse_number(found, field, node, result);
    if ((field->min != 0 || field->max != 0) &&
        (number < field->min || number > field->max)) {
        number_text(field, field->min, min, sizeof min);
        number_text(field, field->max, max, sizeof max);
        findings_add(found, "KP027", SEVERITY_REFUSE, node->at,
            "%s: '%.60s' is not between %s and %s", field->key, node->text, min,
            max);
        return false;
    }
    memcpy(at, &number, sizeof number);
    return true;
}

/* The text itself, when it has the form; `at` takes a pointer. */
void
value_shown(const char *text, char *shown)
{
    (void)snprintf(shown, VALUE_SHOWN_SIZE, "%s", text);
    redact_source(shown, strlen(shown));
}

/* The address in what was written: without a scheme, a user, a path. */
static void
remedy_address(struct findings *found, const struct field *field,
    const char *text)
{
    bool list = field->type == FIELD_LIST;
    const char *scheme = strstr(text, "://"), *user = NULL;
    char part[256];

    if (scheme != NULL)
        text = scheme + 3;
    user = strrchr(text, '@');
    if (user != NULL)
        text = user + 1;
    (void)snprintf(part, sizeof part, "%.*s", (int)strcspn(text, "/"), text);
    if (format_is_address(part))
        findings_remedy(found, list ? "%s: ['%s']" : "%s: '%s'", field->key,
            part);
    else if (list && strchr(part, ',') != NULL)
        findings_remedy(found, "%s: [HOST:PORT, HOST:PORT]", field->key);
    else if (list)
        findings_remedy(found, "%s: [HOST:PORT]", field->key);
    else
        findings_remedy(found, "%s: '127.0.0.1:9464'", field->key);
}

/* The name with the characters that a name may have. */
static void
remedy_name(struct findings *found, const struct field *field, const char *text)
{
    char name[41];
    size_t n = 0;

    for (; *text != '\0' && n + 1 < sizeof name; text++) {
        char c = (char)tolower((unsigned char)*text);

        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            name[n++] = c;
        else if (n > 0 && name[n - 1] != '-')
            name[n++] = '-';
    }
    while (n > 0 && name[n - 1] == '-')
        n--;
    name[n] = '\0';
    if (n > 0 && strchr(field->key, ' ') == NULL)
        findings_remedy(found, "%s: %s", field->key, name);
    else if (n > 0) /* it is a key itself */
        findings_remedy(found, "%s:", name);
}

bool
value_read_text(struct findings *found, const struct field *field,
    const struct yaml *node, void *at)
{
    const char *text = node->text;
    char shown[VALUE_SHOWN_SIZE];

    if (text[0] == '\0') {
        findings_add(found, "KP032", SEVERITY_REFUSE, node->at,
            "%s: there is nothing between the quotes", field->key);
        return false;
    }
    if (forms[field->form].fits != NULL && !forms[field->form].fits(text)) {
        value_shown(text, shown);
        if (field->form == FORM_SECRET_PATH)
            (void)snprintf(shown, sizeof shown, "...");
        findings_add(found, forms[field->form].code, SEVERITY_REFUSE, node->at,
            "%s: '%s' is not %s", field->key, shown, forms[field->form].need);
        if (field->form == FORM_ADDRESS)
            remedy_address(found, field, text);
        if ((field->form == FORM_NAME || field->form == FORM_WORD) &&
            strcmp(shown, text) == 0)
            remedy_name(found, field, text);
        return false;
    }
    memcpy(at, &text, sizeof text);
    return true;
}

bool
value_read(struct findings *found, const struct field *field,
    const struct yaml *node, void *at)
{
    switch (field->type) {
    case FIELD_ENUM:
    case FIELD_WORD:
        return read_choice(found, field, node, at);
    case FIELD_BOOL:
        return read_bool(found, field, node, at);
    case FIELD_MS:
    case FIELD_BYTES:
    case FIELD_INT:
        return read_number(found, field, node, at);
    case FIELD_TEXT:
        if (field->nothing != NULL && strcmp(node->text, field->nothing) == 0)
            return true;
        return value_read_text(found, field, node, at);
    case FIELD_LIST:
    case FIELD_SECTION:
    case FIELD_NAMED:
    case FIELD_LATER:
        break;
    }
    return false;
}

void
value_text(const struct field *field, const void *base, char *text, size_t size)
{
    const char *at = (const char *)base + field->at;
    const char *word = NULL;
    int64_t number = 0;
    unsigned i = 0;

    text[0] = '\0';
    if (field->type == FIELD_ENUM) {
        memcpy(&i, at, sizeof i);
        if (field->fallback != NULL)
            word = field->choices[i];
        else if (i > 0)
            word = field->choices[i - 1];
    } else if (field->type == FIELD_TEXT || field->type == FIELD_WORD) {
        memcpy(&word, at, sizeof word);
        if (word == NULL)
            word = field->nothing;
    } else if (field->type == FIELD_BOOL) {
        word = *(const bool *)(const void *)at ? "true" : "false";
    } else {
        memcpy(&number, at, sizeof number);
        number_text(field, number, text, size);
    }
    if (word != NULL)
        snprintf(text, size, "%s", word);
}

void
value_type_text(const struct field *field, char *text, size_t size)
{
    static const char *const names[] = {
        [FIELD_TEXT] = "text",
        [FIELD_BOOL] = "true or false",
        [FIELD_MS] = "duration",
        [FIELD_BYTES] = "size",
        [FIELD_INT] = "number",
        [FIELD_LIST] = "list",
        [FIELD_SECTION] = "section",
        [FIELD_NAMED] = "map of names",
        [FIELD_LATER] = "not in this version",
    };

    if (field->choices != NULL)
        join(field->choices, text, size);
    else if (field->type == FIELD_SECTION && field->inner->switched)
        snprintf(text, size, "off, on, or section");
    else
        snprintf(text, size, "%s", names[field->type]);
}
