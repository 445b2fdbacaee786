#include "metric.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

/* shared: every value is an atomic of its own. */
struct metrics {
    _Atomic int64_t values[METRIC_N];
};

struct row {
    const char *name;
    enum metric_kind kind;
    const char *help;
};

#define METRIC_AS_ROW(id, name, kind, help) { name, kind, help },
static const struct row rows[METRIC_N] = { METRICS(METRIC_AS_ROW) };
#undef METRIC_AS_ROW

static const char *
kind_name(enum metric_kind kind)
{
    return kind == METRIC_COUNTER ? "counter" : "gauge";
}

struct metrics *
metrics_new(void)
{
    return calloc(1, sizeof(struct metrics));
}

void
metrics_free(struct metrics *metrics)
{
    free(metrics);
}

void
metric_add(struct metrics *metrics, enum metric id, int64_t n)
{
    if (metrics != NULL)
        atomic_fetch_add_explicit(&metrics->values[id], n,
            memory_order_relaxed);
}

void
metric_set(struct metrics *metrics, enum metric id, int64_t value)
{
    if (metrics != NULL)
        atomic_store_explicit(&metrics->values[id], value,
            memory_order_relaxed);
}

int64_t
metric_get(const struct metrics *metrics, enum metric id)
{
    if (metrics == NULL)
        return 0;
    return atomic_load_explicit(&metrics->values[id], memory_order_relaxed);
}

void
metric_label(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            fputs("\\n", out);
        else if (*text == '\\' || *text == '"')
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void
render_sample(FILE *out, const char *name, const struct metric_set *set,
    int64_t value)
{
    fputs(name, out);
    if (set->flow != NULL) {
        fputs("{flow=\"", out);
        metric_label(out, set->flow);
        fputs("\"}", out);
    }
    fprintf(out, " %" PRId64 "\n", value);
}

void
metrics_render(FILE *out, const struct metric_set *sets, size_t n_sets)
{
    for (size_t id = 0; id < METRIC_N; id++) {
        const struct row *row = &rows[id];

        fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help,
            row->name, kind_name(row->kind));
        for (size_t i = 0; i < n_sets; i++)
            render_sample(out, row->name, &sets[i],
                metric_get(sets[i].metrics, (enum metric)id));
    }
}

void
metrics_document(FILE *out)
{
    fputs("| metric | kind | meaning |\n| --- | --- | --- |\n", out);
    for (size_t id = 0; id < METRIC_N; id++)
        fprintf(out, "| `%s` | %s | %s |\n", rows[id].name,
            kind_name(rows[id].kind), rows[id].help);
}
