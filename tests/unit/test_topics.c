#include "topics.h"

#include "policyfix.h"

static void
test_internal(void **state)
{
    static const struct {
        const char *name;
        bool want;
    } cases[] = {
        { "__consumer_offsets", true },
        { "_schemas", false },
        { ".hidden", true },
        { "mm2-offset-syncs.cloud.internal", true },
        { "plant7.checkpoints.internal", true },
        { "my.internal", false },
        { "mm2.orders", false },
        { "kedge.plant7.telemetry.ledger", true },
        { "kedge.plant7.telemetry.audit", true },
        { "kedge.plant7.status", true },
        { "kedge.orders", false },
        { "orders", false },
    };

    (void)state;
    for (size_t i = 0; i < N(cases); i++)
        if (topics_is_internal(cases[i].name) != cases[i].want)
            fail_msg("'%s'", cases[i].name);
}

static void
test_patterns(void **state)
{
    static const struct policyfix_row rows[] = {
        { "a name with a dot says too much", "[orders]", "['plant.orders']",
            "KP076" },
        { "with the dot escaped", "[orders]", "['plant\\.orders']", "" },
        { "a loose exclude is said, too", "[orders]",
            "[orders], exclude: ['orders.debug']", "KP076" },
        { "a star", "[orders]", "['*']", "KP075" },
        { "a star for one part", "[orders]", "['*.orders']", "KP075" },
        { "a star behind a letter", "[orders]", "['tank*']", "KP075" },
        { "a star behind a dash, and a question mark", "[orders]",
            "['tank-*', 'batch?']", "KP075 KP075" },
        { "a plus behind a digit, where it excludes", "[orders]",
            "['t.*'], exclude: ['t1+']", "KP075" },
        { "each of it in brackets", "[orders]",
            "['tan(k)*', 'tank[-]*', 'batc(h)?', 'o(ab?c)+', '[a*?]b']", "" },
        { "behind what is any text", "[orders]",
            "['tank.*', 't\\d+', 't\\w*', '\\Qa*\\E', 'x.*?y', 'o{2}']", "" },
        { "a comma list", "[orders]", "['orders, payments']", "KP079" },
        { "a comma that counts", "[orders]", "['o{1,3}']", "" },
        { "a comma in a class matches nothing more", "[orders]", "['o[,x]']",
            "" },
        { "a bracket missing", "[orders]", "['a(b']", "KP074" },
        { "two bad ones, two findings", "[orders]", "['a(b', 'c(d']",
            "KP074 KP074" },
        { "a bad exclude", "[orders]", "[orders], exclude: ['[']", "KP074" },
        { "an internal topic by name", "[orders]", "[__consumer_offsets]",
            "KP073" },
        { "our own ledger by name", "[orders]",
            "['kedge\\.plant7\\.telemetry\\.ledger']", "KP073" },
        { "nothing but internal topics", "[orders]", "['__.*']", "KP073" },
        { "the same beside others", "[orders]", "[orders, '__.*']", "KP073" },
        { "anchored", "[orders]", "['^__.*$']", "KP073" },
        { "in branches", "[orders]", "['__.*|\\.x|__+']", "KP073" },
        { "in branches of which one is not", "[orders]", "['__.*|_x']", "" },
        { "one underline", "[orders]", "['_.*']", "" },
        { "ledgers", "[orders]", "['kedge\\..*\\.ledger']", "KP073" },
        { "what may be more than ledgers", "[orders]",
            "['kedge\\..*\\.(ledger|x)']", "" },
        { "checkpoints", "[orders]", "['.*\\.checkpoints\\.internal']",
            "KP073" },
        { "everything", "[orders]", "['.*']", "" },
        { "an internal topic that is excluded", "[orders]",
            "[orders], exclude: ['__.*']", "" },
        { "included and excluded", "[orders]", "[orders], exclude: [orders]",
            "KP077" },
        { "a pattern that is included and excluded", "[orders]",
            "['a.*', orders], exclude: ['a.*']", "KP077" },
        { "everything is excluded", "[orders]",
            "['a.*', orders], exclude: ['.*']", "KP077 KP077" },
        { "a blank", "[orders]", "['or ders']", "KP079" },
        { "a slash", "[orders]", "['telemetry/.*']", "KP079" },
        { "a blank at the end", "[orders]", "['.*\\.debug ']", "KP079" },
        { "letters of elsewhere", "[orders]", "['st\xc3\xb6rung']", "KP079" },
        { "a blank that may be", "[orders]", "['or ?ders']", "" },
        { "a class with a slash", "[orders]", "['or[/x]ders']", "" },
        { "what came from the target", "[orders]", "['cloud\\..*']", "KP080" },
        { "by way of another", "[orders]", "['hub\\.cloud\\.orders']",
            "KP080" },
        { "what only sounds like it", "[orders]", "['clouds\\..*']", "" },
        { "a name like the target's, without a prefix", "[orders]", "[cloud]",
            "" },
        { "a flow that has no prefixes", "[orders]}",
            "['cloud\\.orders']}\n    rename: {policy: identity}", "" },
        { "an empty pattern", "[orders]", "['']", "KP032" },
        { "start at a date", "[orders]", "[orders], start: 2026-11-30", "" },
        { "start in no time", "[orders]", "[orders], start: 12:00", "KP036" },
    };

    (void)state;
    policyfix_run(rows, N(rows));
}

static void
test_place_in_a_pattern(void **state)
{
    char *text = policyfix_change(policyfix_good, "[orders]", "['a[z-a]']");
    struct findings *found = findings_new();

    (void)state;
    assert_null(policy_parse(text, strlen(text), NOW_WALL_MS, found));
    assert_int_equal(findings_at(found, 0)->at.line, 17);
    assert_int_equal(findings_at(found, 0)->at.column, 29);
    findings_free(found);
    free(text);
}

static void
test_what_was_meant_by_a_glob(void **state)
{
    static const struct {
        const char *is, *remedy;
        int column;
    } cases[] = {
        { "['tank*']", "'tank.*'\n# or 'tan(k)*', if that is meant", 29 },
        { "['batch?']", "'batch.'\n# or 'batc(h)?', if that is meant", 30 },
        { "['a-+b']", "'a-.+b'\n# or 'a(-)+b', if that is meant", 27 },
    };

    (void)state;
    for (size_t i = 0; i < N(cases); i++) {
        char *text = policyfix_change(policyfix_good, "[orders]", cases[i].is);
        struct findings *found = findings_new();

        policy_free(policy_parse(text, strlen(text), NOW_WALL_MS, found));
        assert_string_equal(findings_at(found, 0)->remedy, cases[i].remedy);
        assert_int_equal(findings_at(found, 0)->at.column, cases[i].column);
        findings_free(found);
        free(text);
    }
}

/* Two flows: the first as it is, the second with these keys. */
static const struct {
    const char *label, *first, *second, *want;
} pairs[] = {
    { "the same name twice", "{include: [orders]}",
        "from: plant7\n    to: cloud\n    topics: {include: [orders]}",
        "KP072" },
    { "other names", "{include: [orders]}",
        "from: plant7\n    to: cloud\n    topics: {include: [payments]}", "" },
    { "a pattern that has the name", "{include: [orders]}",
        "from: plant7\n    to: cloud\n    topics: {include: ['o.*']}",
        "KP072" },
    { "a pattern that has it, with the name excluded", "{include: [orders]}",
        "from: plant7\n    to: cloud\n"
        "    topics: {include: ['o.*'], exclude: [orders]}",
        "" },
    { "a pattern that does not have the name", "{include: [orders]}",
        "from: plant7\n    to: cloud\n    topics: {include: ['o\\d+']}", "" },
    { "patterns that begin differently", "{include: ['a\\..*']}",
        "from: plant7\n    to: cloud\n    topics: {include: ['b\\..*']}", "" },
    { "patterns that may meet", "{include: ['a.*']}",
        "from: plant7\n    to: cloud\n    topics: {include: ['.*b']}",
        "KP072" },
    { "patterns that may meet, one excluded by the other", "{include: ['a.*']}",
        "from: plant7\n    to: cloud\n"
        "    topics: {include: ['.*b'], exclude: ['a.*']}",
        "" },
    { "one with a prefix and one without", "{include: [orders]}",
        "from: plant7\n    to: cloud\n    topics: {include: [orders]}\n"
        "    rename: {policy: identity}",
        "" },
    { "a prefix that somebody else wrote already", "{include: [orders]}",
        "from: plant7\n    to: cloud\n"
        "    topics: {include: ['plant7\\.orders']}\n"
        "    rename: {policy: identity}",
        "KP072" },
    { "other separators", "{include: [orders]}",
        "from: plant7\n    to: cloud\n    topics: {include: [orders]}\n"
        "    rename: {separator: '_'}",
        "" },
    { "back, with prefixes on both ways", "{include: ['.*']}",
        "from: cloud\n    to: plant7\n    topics: {include: ['.*']}", "" },
    { "back, without any prefix", "{include: ['.*']}",
        "from: cloud\n    to: plant7\n    topics: {include: ['.*']}\n"
        "    rename: {policy: identity}",
        "KP071" },
    { "back, of other topics", "{include: [orders]}",
        "from: cloud\n    to: plant7\n    topics: {include: [commands]}\n"
        "    rename: {policy: identity}",
        "" },
    { "a prefix that is sent back and not taken again", "{include: [orders]}",
        "from: cloud\n    to: plant7\n"
        "    topics: {include: ['plant7\\.orders']}\n"
        "    rename: {policy: identity}",
        "KP087" },
    { "everything is sent back, prefixes too", "{include: ['tank\\..*']}",
        "from: cloud\n    to: plant7\n    topics: {include: ['.*']}\n"
        "    rename: {policy: identity}",
        "KP087 KP087" },
    { "the same without what would be mixed", "{include: ['tank\\..*']}",
        "from: cloud\n    to: plant7\n"
        "    topics: {include: ['.*'], exclude: ['tank\\..*']}\n"
        "    rename: {policy: identity}",
        "KP087" },
    { "the same without the prefix, too", "{include: ['tank\\..*']}",
        "from: cloud\n    to: plant7\n"
        "    topics: {include: ['.*'], "
        "exclude: ['tank\\..*', 'plant7\\..*']}\n"
        "    rename: {policy: identity}",
        "" },
    { "names with the prefix that nobody brings", "{include: ['tank\\..*']}",
        "from: cloud\n    to: plant7\n"
        "    topics: {include: ['plant7\\.commands\\..*']}\n"
        "    rename: {policy: identity}",
        "" },
    { "everything, what comes without a prefix too", "{include: ['.*']}",
        "from: cloud\n    to: plant7\n    topics: {include: [commands]}\n"
        "    rename: {policy: identity}",
        "KP087" },
    { "the same without that", "{include: ['.*'], exclude: [commands]}",
        "from: cloud\n    to: plant7\n    topics: {include: [commands]}\n"
        "    rename: {policy: identity}",
        "" },
    { "a prefix that is sent back and taken again",
        "{include: [orders, 'plant7\\..*']}",
        "from: cloud\n    to: plant7\n"
        "    topics: {include: ['plant7\\..*']}\n"
        "    rename: {policy: identity}",
        "KP071" },
    { "to itself", "{include: [orders]}",
        "from: plant7\n    to: plant7\n    topics: {include: [orders]}",
        "KP070" },
};

static void
test_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(pairs); i++) {
        char more[512];
        char *one = policyfix_change(policyfix_good, "{include: [orders]}",
            pairs[i].first);
        char *two = NULL;

        (void)snprintf(more, sizeof more,
            "  second:\n    %s\n    producer: {acks: all, retries: unlimited}\n"
            "    errors.tolerance: none\n",
            pairs[i].second);
        two = policyfix_change(one, NULL, more);
        policyfix_expect(pairs[i].label, two, pairs[i].want);
        free(two);
        free(one);
    }
}

/* Identity on the same topic, both ways and over three clusters. */
/* Thirty names for which two patterns need all the work there is. */
#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define FIVE(n) A n "a, " A n "b, " A n "c, " A n "d, " A n "e"
#define SLOW                                                                  \
    "  across:\n    from: hub\n    to: plant7\n"                              \
    "    topics: {include: [orders, " FIVE("1") ", " FIVE("2") ", " FIVE(     \
        "3") ", " FIVE("4") ", " FIVE("5") ", " FIVE("6") "],\n"              \
                                                          "             "     \
                                                          "exclude: "         \
                                                          "['(a+)+[bc]', "    \
                                                          "'(a|aa)+[bc]', "   \
                                                          "'(a+)+orders']}\n" \
                                                          "    rename: "      \
                                                          "{policy: "         \
                                                          "identity}\n"

static void
test_circles_without_names(void **state)
{
    char *identity = policyfix_change(policyfix_good, "    errors.tol",
        "    rename: {policy: identity}\n    errors.tol");
    char *third = policyfix_change(identity, "flows:",
        "  hub:\n    site: plant7\n    bootstrap: [h1.plant7.test:9092]\n"
        "    tls: off\nflows:");
    char *path = policyfix_change(third, NULL,
        "  down:\n    from: cloud\n    to: hub\n"
        "    topics: {include: ['o.*']}\n    rename: {policy: identity}\n");
    char *circle = policyfix_change(path, NULL,
        "  across:\n    from: hub\n    to: plant7\n"
        "    topics: {include: [orders, x]}\n    rename: {policy: identity}\n");
    char *prefix = policyfix_change(circle,
        "    rename: {policy: identity}\n    errors.tol", "    errors.tol");
    char *apart = policyfix_change(prefix, "[orders, x]", "[x]");
    char *slow = policyfix_change(path, NULL, SLOW);
    char *cut =
        policyfix_change(circle, "['o.*']", "['o.*'], exclude: [orders]");

    (void)state;
    policyfix_expect("a path is no circle", path, "");
    policyfix_expect("what cannot be asked is no circle as well", slow,
        "KP085");
    policyfix_expect("three clusters", circle, "KP071");
    policyfix_expect("three clusters, once and not again", prefix, "KP071");
    policyfix_expect("three clusters, other names", apart, "");
    free(apart);
    free(prefix);
    policyfix_expect("excluded on the way", cut, "");
    free(slow);
    free(cut);
    free(circle);
    free(path);
    free(third);
    free(identity);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_internal),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_place_in_a_pattern),
        cmocka_unit_test(test_what_was_meant_by_a_glob),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_circles_without_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
