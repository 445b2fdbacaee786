#include "yaml_tree.h"

#include "redact.h"
#include "sheet.h"
#include "utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define FOLDED_MAX 16 /* more of them are not said one by one */

struct reader {
    yaml_parser_t parser;
    struct sheet sheet;
    size_t n_nodes;
    struct findings *found;
    bool stop;                      /* what follows cannot be read */
    bool secret;                    /* below a key that sounds like one */
    struct span folded[FOLDED_MAX]; /* texts over several lines */
    size_t n_folded;
};

static void
refuse(struct reader *reader, const char *code, struct span at,
    const char *text, const char *remedy)
{
    findings_add(reader->found, code, SEVERITY_REFUSE, at, "%s", text);
    if (remedy != NULL)
        findings_remedy(reader->found, "%s", remedy);
}

static void
no_memory(struct reader *reader)
{
    refuse(reader, "KP001", (struct span){ 0 }, "there is no memory to read it",
        NULL);
    reader->stop = true;
}

/* The library counts characters, we count bytes. */
static struct span
span_of(const struct reader *reader, const yaml_mark_t *start,
    const yaml_mark_t *end)
{
    return sheet_span(&reader->sheet, start->line, start->column, end->line,
        end->column);
}

/* ---- what the library says, in an operator's words --------------------- */

static void
refuse_syntax(struct reader *reader)
{
    static const struct {
        const char *theirs, *ours;
    } words[] = {
        { "mapping values are not allowed",
            "a second ':' on one line: put text that has ': ' in quotes" },
        { "did not find expected key",
            "a 'key: value' is needed here: look at the indentation" },
        { "could not find expected ':'", "this key has no ':' behind it" },
        { "cannot start any token",
            "this character cannot start a value: put the text in quotes" },
        { "unexpected end of stream", "the file ends inside of a quoted text" },
        { "expected ',' or ']'", "a '[' is not closed, or a ',' is missing" },
        { "expected ',' or '}'", "a '{' is not closed, or a ',' is missing" },
        { "expected '-' indicator",
            "a '- ' is needed here: look at the indentation" },
        { "block sequence entries", "a list cannot start here: begin a line" },
        { "unknown escape", "no such '\\' sequence: use 'single quotes'" },
        { "document start", "the document was over: look at the indentation" },
        { "alphabetic or numeric",
            "'*' and '&' mean something in YAML: put the text in quotes" },
        { "undefined tag", "tags ('!') are not used in a policy" },
        { "directive", "lines that start with '%' are not used in a policy" },
    };
    const yaml_parser_t *parser = &reader->parser;
    const char *problem = parser->problem != NULL ? parser->problem : "";
    const char *text = "this is not YAML";

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(problem, words[i].theirs) != NULL) {
            text = words[i].ours;
            break;
        }
    if (parser->error == YAML_MEMORY_ERROR)
        text = "there is no memory to read it";
    refuse(reader, "KP001",
        span_of(reader, &parser->problem_mark, &parser->problem_mark), text,
        NULL);
    reader->stop = true;
}

/* ---- nodes ------------------------------------------------------------- */

static bool
next_event(struct reader *reader, yaml_event_t *event)
{
    if (!reader->stop && yaml_parser_parse(&reader->parser, event))
        return true;
    if (!reader->stop)
        refuse_syntax(reader);
    memset(event, 0, sizeof *event);
    return false;
}

static struct yaml *
node_new(struct reader *reader, const yaml_event_t *event)
{
    struct yaml *node = NULL;

    if (++reader->n_nodes > YAML_NODES_MAX) {
        refuse(reader, "KP007",
            span_of(reader, &event->start_mark, &event->end_mark),
            "the file has more than 10000 values", NULL);
        reader->stop = true;
        return NULL;
    }
    if ((node = calloc(1, sizeof *node)) == NULL) {
        no_memory(reader);
        return NULL;
    }
    node->at = span_of(reader, &event->start_mark, &event->end_mark);
    return node;
}

/* What no node may have.  False: the node is refused. */
static bool
check_marks(struct reader *reader, const struct yaml *node, const void *anchor,
    const void *tag)
{
    if (anchor != NULL)
        refuse(reader, "KP003", node->at,
            "an anchor ('&'): values are written where they are used",
            "take the '&name' out; a text that starts with '&' needs quotes");
    if (tag != NULL)
        refuse(reader, "KP004", node->at,
            "a tag ('!'): the setting decides what its value is",
            "take the '!...' out; a text that starts with '!' needs quotes");
    return anchor == NULL && tag == NULL;
}

static bool
check_text(struct reader *reader, const yaml_event_t *event,
    const struct yaml *node)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    yaml_scalar_style_t style = event->data.scalar.style;
    uint32_t point = 0;

    if (style == YAML_LITERAL_SCALAR_STYLE ||
        style == YAML_FOLDED_SCALAR_STYLE ||
        event->start_mark.line != event->end_mark.line) {
        if (reader->n_folded < FOLDED_MAX)
            reader->folded[reader->n_folded++] = node->at;
        return false;
    }
    if (len > YAML_TEXT_MAX) {
        refuse(reader, "KP007", node->at, "a value of more than 2048 bytes",
            NULL);
        return false;
    }
    for (size_t i = 0; i < len; i += utf8_next(text + i, len - i, &point)) {
        if (utf8_next(text + i, len - i, &point) == 0 || !utf8_is_safe(point)) {
            refuse(reader, "KP008", node->at,
                "an escape puts a control character into this value", NULL);
            return false;
        }
    }
    return true;
}

static struct yaml *
read_text(struct reader *reader, const yaml_event_t *event)
{
    struct yaml *node = node_new(reader, event);
    size_t len = event->data.scalar.length;

    if (node == NULL)
        return NULL;
    if (!check_marks(reader, node, event->data.scalar.anchor,
            event->data.scalar.tag) ||
        !check_text(reader, event, node))
        return node;
    if ((node->text = malloc(len + 1)) == NULL) {
        no_memory(reader);
        return node;
    }
    memcpy(node->text, event->data.scalar.value, len);
    node->text[len] = '\0';
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->kind = YAML_TEXT;
    return node;
}

static struct yaml *read_node(struct reader *reader, const yaml_event_t *event,
    int depth);

static void
append(struct yaml *parent, struct yaml ***tail, struct yaml *child)
{
    **tail = child;
    *tail = &child->next;
    parent->n++;
}

static void
read_list(struct reader *reader, struct yaml *list, int depth)
{
    struct yaml **tail = &list->first;
    yaml_event_t event;

    while (next_event(reader, &event)) {
        bool end = event.type == YAML_SEQUENCE_END_EVENT;
        struct yaml *item = end ? NULL : read_node(reader, &event, depth + 1);

        yaml_event_delete(&event);
        if (item == NULL)
            return;
        append(list, &tail, item);
    }
}

/* Gives the key's text to `node`, or refuses it. */
static void
take_key(struct reader *reader, struct yaml *map, struct yaml *key,
    struct yaml *node)
{
    struct yaml *first = NULL;

    node->key_at = key->at;
    if (key->kind == YAML_BROKEN)
        return;
    if (key->kind != YAML_TEXT || key->text[0] == '\0') {
        refuse(reader, "KP009", key->at, "a key has to be a plain word", NULL);
        return;
    }
    if ((first = yaml_find(map, key->text)) != NULL) {
        findings_add(reader->found, "KP002", SEVERITY_REFUSE, key->at,
            "'%.60s' stands here for the second time; the first is on line %d",
            reader->secret ? "..." : key->text, first->key_at.line);
        findings_remedy(reader->found, "%s", "keep one of the two");
        return;
    }
    node->key = key->text;
    key->text = NULL;
}

static void
read_map(struct reader *reader, struct yaml *map, int depth)
{
    struct yaml **tail = &map->first;
    bool secret = reader->secret;
    yaml_event_t event;

    while (next_event(reader, &event)) {
        bool end = event.type == YAML_MAPPING_END_EVENT;
        struct yaml *key = end ? NULL : read_node(reader, &event, depth + 1);
        struct yaml *node = NULL;

        yaml_event_delete(&event);
        reader->secret =
            secret || (key != NULL && key->kind == YAML_TEXT &&
                          (strcmp(key->text, "sasl") == 0 ||
                              redact_is_secret(key->text, strlen(key->text))));
        if (key != NULL && next_event(reader, &event)) {
            node = read_node(reader, &event, depth + 1);
            yaml_event_delete(&event);
        }
        reader->secret = secret;
        if (node != NULL)
            take_key(reader, map, key, node);
        yaml_drop(key);
        if (node == NULL)
            return;
        if (node->key != NULL)
            append(map, &tail, node);
        else {
            map->spoiled = true;
            yaml_drop(node);
        }
    }
}

/* NULL: stop.  Depth is bounded, so recursion is. */
static struct yaml *
read_node(struct reader *reader, const yaml_event_t *event, int depth)
{
    bool is_map = event->type == YAML_MAPPING_START_EVENT;
    struct yaml *node = NULL;

    if (event->type == YAML_SCALAR_EVENT)
        return read_text(reader, event);
    if ((node = node_new(reader, event)) == NULL)
        return NULL;
    if (event->type == YAML_ALIAS_EVENT) {
        refuse(reader, "KP003", node->at,
            "an alias ('*'): values are written where they are used",
            "write the value out; a text that starts with '*' needs quotes");
        return node;
    }
    if (depth >= YAML_DEPTH_MAX) {
        refuse(reader, "KP012", node->at,
            "more than 12 maps and lists inside of one another", NULL);
        reader->stop = true;
        return node;
    }
    if (is_map)
        check_marks(reader, node, event->data.mapping_start.anchor,
            event->data.mapping_start.tag);
    else
        check_marks(reader, node, event->data.sequence_start.anchor,
            event->data.sequence_start.tag);
    node->kind = is_map ? YAML_MAP : YAML_LIST;
    if (is_map)
        read_map(reader, node, depth);
    else
        read_list(reader, node, depth);
    return node;
}

/* ---- documents --------------------------------------------------------- */

static void
check_start(struct reader *reader, const yaml_event_t *event, bool second)
{
    struct span at = span_of(reader, &event->start_mark, &event->start_mark);

    at.length = 0;
    if (second) {
        refuse(reader, "KP005", at, "a second document starts here",
            "keep one document in the file");
        reader->stop = true;
    } else if (event->data.document_start.version_directive != NULL ||
               event->data.document_start.tag_directives.start !=
                   event->data.document_start.tag_directives.end) {
        refuse(reader, "KP013", at, "a directive ('%') is not used in a policy",
            "take the line that starts with '%' out");
    }
}

/* Only now: where a bracket is not closed, what follows it looks like a text
 * over several lines, and the bracket is what has to be said. */
static void
refuse_folded(struct reader *reader)
{
    for (size_t i = 0; !reader->stop && i < reader->n_folded; i++)
        refuse(reader, "KP010", reader->folded[i], "a value over several lines",
            "write it on one line, or as a list of values");
}

static struct yaml *
read_stream(struct reader *reader)
{
    struct yaml *root = NULL;
    yaml_event_t event;
    bool seen = false;
    bool end = false;

    while (!end && next_event(reader, &event)) {
        end = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT) {
            check_start(reader, &event, seen);
            seen = true;
        } else if (!end && event.type != YAML_STREAM_START_EVENT &&
                   event.type != YAML_DOCUMENT_END_EVENT) {
            yaml_drop(root); /* there is one, NULL until now */
            root = read_node(reader, &event, 0);
        }
        yaml_event_delete(&event);
    }
    if (!seen && !reader->stop)
        refuse(reader, "KP011", (struct span){ 0 }, "the file says nothing",
            NULL);
    return root;
}

/* What is no map is not a policy, whatever else it is. */
static void
refuse_root(struct reader *reader, const struct yaml *root)
{
    if (root->kind == YAML_LIST)
        refuse(reader, "KP011", root->at,
            "a policy is a map of 'key: value' lines, not a list", NULL);
    else if (memchr(reader->sheet.text, '=', reader->sheet.len) != NULL)
        refuse(reader, "KP011", root->at,
            "a policy is a map of 'key: value' lines, and this looks like the "
            "'key = value' lines of a properties file",
            "begin with the example of kedge.policy(5)");
    else
        refuse(reader, "KP011", root->at,
            "a policy is a map of 'key: value' lines", NULL);
}

static struct yaml *
read_text_file(struct reader *reader)
{
    struct yaml *root = NULL;
    bool other = false;

    if (!yaml_parser_initialize(&reader->parser)) {
        no_memory(reader);
        return NULL;
    }
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader->parser,
        (const unsigned char *)reader->sheet.text, reader->sheet.len);
    root = read_stream(reader);
    other =
        root != NULL && (root->kind == YAML_TEXT || root->kind == YAML_LIST ||
                            (reader->n_nodes == 1 && reader->n_folded == 1));
    if (other)
        refuse_root(reader, root);
    else
        refuse_folded(reader);
    yaml_parser_delete(&reader->parser);
    if (reader->stop || (root != NULL && root->kind != YAML_MAP)) {
        yaml_drop(root);
        root = NULL;
    }
    return root;
}

struct yaml *
yaml_read(const char *text, size_t len, struct findings *found)
{
    struct reader reader = { .found = found };
    struct yaml *root = NULL;

    if (len > YAML_BYTES_MAX) {
        refuse(&reader, "KP007", (struct span){ 0 },
            "the file is longer than 256 KiB", NULL);
        return NULL;
    }
    if (sheet_read(&reader.sheet, text, len, found))
        root = read_text_file(&reader);
    sheet_drop(&reader.sheet);
    return root;
}

void
yaml_drop(struct yaml *tree)
{
    if (tree == NULL)
        return;
    while (tree->first != NULL) {
        struct yaml *child = tree->first;

        tree->first = child->next;
        yaml_drop(child); /* as deep as the tree, YAML_DEPTH_MAX */
    }
    free(tree->key);
    free(tree->text);
    free(tree);
}

struct yaml *
yaml_find(const struct yaml *map, const char *key)
{
    if (map == NULL || map->kind != YAML_MAP)
        return NULL;
    for (struct yaml *child = map->first; child != NULL; child = child->next)
        if (strcmp(child->key, key) == 0)
            return child;
    return NULL;
}

bool
yaml_is_nothing(const struct yaml *node)
{
    return node->kind == YAML_TEXT && !node->quoted &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
               strcmp(node->text, "null") == 0);
}

struct span
yaml_place(const struct yaml *node)
{
    return node->key != NULL ? node->key_at : node->at;
}
