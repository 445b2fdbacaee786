#include "playbill.h"

#include "load.h"
#include "proof.h"
#include "stage.h"
#include "tlsend.h"

#include <string.h>
#include <unistd.h>

const char *
playbill_number(char text[32], int64_t number)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)number);
    int first = digits[0] == '-';
    char *at = text;

    for (int i = 0; i < len; i++) {
        if (i > first && (len - i) % 3 == 0)
            *at++ = ' ';
        *at++ = digits[i];
    }
    *at = '\0';
    return text;
}

static bool
is_terminal(FILE *out)
{
    int fd = fileno(out);

    return fd != -1 && isatty(fd) == 1;
}

int
playbill_interval_ms(FILE *out)
{
    return is_terminal(out) ? 250 : 2000;
}

void
playbill_say(FILE *out, const char *text)
{
    (void)fprintf(out, "%s%s\n", is_terminal(out) ? "\r\033[K" : "", text);
    (void)fflush(out);
}

void
playbill_opening(FILE *out, const struct stage *stage,
    const struct load_plan *plan)
{
    char number[32];

    (void)fprintf(out,
        "Two embedded clusters: \"plant\" in plaintext, and \"cloud\", which "
        "is reached\nonly over TLS with a certificate that was made a moment "
        "ago.  An agent of its\nown, `kedge run`, forwards from one to the "
        "other on this policy:\n\n");
    for (const char *at = stage->policy_text; *at != '\0';) {
        size_t len = strcspn(at, "\n");

        (void)fprintf(out, "    %.*s\n", (int)len, at);
        at += len + (at[len] == '\n');
    }
    (void)fprintf(out,
        "\nIt lies in %s,\nthe agent's log in %s.\n\n"
        "%s records go into %d partitions of %d topics, one topic for each\n"
        "codec; the link is cut in the middle.\n\n",
        stage->policy, stage->log, playbill_number(number, plan->records),
        LOAD_PARTS, LOAD_TOPICS);
    (void)fflush(out);
}

void
playbill_progress(FILE *out, const struct playbill_line *line, int64_t since_ms)
{
    bool terminal = is_terminal(out);
    char produced[32], arrived[32], per_s[32], lag[32], in_flight[32];

    (void)fprintf(out,
        "%s%5.1f s  sent %s  arrived %s  %s%s  lag %s  in flight %s%s",
        terminal ? "\r\033[K" : "", (double)since_ms / 1000,
        playbill_number(produced, line->produced),
        playbill_number(arrived, line->arrived),
        line->cut ? "link cut" : playbill_number(per_s, line->per_s),
        line->cut ? "" : "/s", playbill_number(lag, line->lag),
        line->in_flight < 0 ? "?" : playbill_number(in_flight, line->in_flight),
        terminal ? "" : "\n");
    (void)fflush(out);
}

static void
print_faults(FILE *out, struct proof *proof)
{
    const char *fault;

    for (int i = 0; (fault = proof_fault(proof, i)) != NULL; i++)
        (void)fprintf(out, "  FAULT     %s\n", fault);
}

static void
print_counts(FILE *out, const struct proof_counts *counts)
{
    char a[32], b[32], c[32], d[32];

    (void)fprintf(out,
        "  records   %s arrived, %s missing, %s altered, %s never produced\n",
        playbill_number(a, counts->first), playbill_number(b, counts->missing),
        playbill_number(c, counts->altered),
        playbill_number(d, counts->foreign));
    (void)fprintf(out,
        "  order     %s of them behind a later one of their partition; %s "
        "arrived again,\n"
        "            each the same as the one that was there\n",
        playbill_number(a, counts->reordered),
        playbill_number(b, counts->repeats));
    (void)fprintf(out,
        "  content   key, value, headers and timestamp compared byte for "
        "byte:\n            %s tombstones, %s null keys, %s headers\n",
        playbill_number(a, counts->tombstones),
        playbill_number(b, counts->null_keys),
        playbill_number(c, counts->headers));
    (void)fprintf(out, "  bytes     %s of keys, values and headers\n",
        playbill_number(a, counts->bytes));
}

static void
print_run(FILE *out, const struct stage *stage, const struct playbill *bill)
{
    struct tlsend_counts counts;
    char a[32], b[32], c[32];

    tlsend_count(stage->tlsend, &counts);
    (void)fprintf(out,
        "  link      TLS only, both sides with a certificate: %s "
        "connections,\n            %s refused while it was cut, %s bytes in\n",
        playbill_number(a, counts.completed),
        playbill_number(b, counts.refused),
        playbill_number(c, counts.bytes_in));
    (void)fprintf(out, "  time      %.1f s from the agent's start",
        (double)bill->all_ms / 1000);
    if (bill->cut_ms > 0)
        (void)fprintf(out,
            ",\n            of them %.1f s cut; then it took %.1f s more",
            (double)bill->cut_ms / 1000, (double)bill->catch_ms / 1000);
    (void)fprintf(out, ";\n            the lag rose to %s records\n",
        playbill_number(a, bill->peak_lag));
    if (bill->peak_kib > 0)
        (void)fprintf(out, "  memory    %.1f MiB at most, the agent's\n",
            (double)bill->peak_kib / 1024);
}

void
playbill_proof(FILE *out, const struct stage *stage, struct proof *proof,
    const struct playbill *bill)
{
    struct proof_counts counts;
    bool holds = proof_holds(proof);

    proof_count(proof, &counts);
    playbill_say(out, "");
    (void)fprintf(out, "%s\n\n",
        holds ? "What was proven: every record arrived, unaltered and in order."
              : "It did not hold.");
    print_faults(out, proof);
    print_counts(out, &counts);
    print_run(out, stage, bill);
    (void)fprintf(out, "  policy    %s%s\n", stage->policy,
        !holds       ? ""
        : bill->keep ? " (removed at the end)"
                     : " (removed now; with --keep, after Ctrl-C)");
    if (holds)
        (void)fprintf(out,
            "\nWhat this does not prove is durability: the embedded clusters "
            "keep everything\nin memory and nothing on disk, have no replicas "
            "that could fail and fence\nnobody.  That is what the system tests "
            "on real brokers are for.\n");
    (void)fflush(out);
}

void
playbill_keep(FILE *out, const struct stage *stage)
{
    (void)fprintf(out,
        "\nEverything keeps running until Ctrl-C, and is removed then.  To try "
        "in another\nterminal:\n\n"
        "    kedge status --socket %s\n"
        "    kedge flow pause telemetry --socket %s\n\n",
        stage->socket, stage->socket);
    (void)fflush(out);
}

void
playbill_failed(FILE *out, const struct stage *stage)
{
    playbill_say(out, "");
    (void)fprintf(out, "The policy and the agent's log stay in %s\n",
        stage->folder);
    (void)fflush(out);
}
