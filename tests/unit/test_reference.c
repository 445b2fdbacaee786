/* The pages are what the tables say. */
#include "reference.h"

#include "codes.h"
#include "file.h"
#include "policyfix.h"

#define BEGIN ".\\\" Settings: kedge explain --schema=mdoc\n"
#define END ".\\\" End of settings\n"

static char *
written(void (*write)(FILE *out))
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    write(file);
    assert_int_equal(fclose(file), 0);
    return text;
}

static char *
page(const char *name)
{
    char path[512];
    struct err err = { 0 };
    size_t len = 0;
    char *text = NULL;

    (void)snprintf(path, sizeof path, "%s/%s", DOCS, name);
    text = file_read(path, 1u << 20, &len, &err);
    if (text == NULL)
        fail_msg("%s", err.text);
    return text;
}

static void
test_markdown(void **state)
{
    char *is = page("policy.md");
    char *should = written(reference_markdown);

    (void)state;
    if (strcmp(is, should) != 0)
        fail_msg("docs/policy.md is old: write it again with "
                 "'kedge explain --schema=markdown'");
    free(should);
    free(is);
}

static void
test_manual_page(void **state)
{
    char *is = page("kedge.policy.5");
    char *should = written(reference_mdoc);
    char *begin = strstr(is, BEGIN);
    const char *end = strstr(is, END);

    (void)state;
    if (begin == NULL || end == NULL)
        abort();
    begin += strlen(BEGIN);
    if ((size_t)(end - begin) != strlen(should) ||
        strncmp(begin, should, strlen(should)) != 0)
        fail_msg("docs/kedge.policy.5 is old: write its settings again with "
                 "'kedge explain --schema=mdoc'");
    free(should);
    free(is);
}

/* What placement has in common for the policy and for a flow, too. */
static void
test_each_table_once(void **state)
{
    char *text = written(reference_markdown);
    size_t tables = 0;

    (void)state;
    for (char *at = text; (at = strstr(at, "\n## ")) != NULL; at++) {
        char *end = strchr(at + 1, '\n');
        char head[80];

        (void)snprintf(head, sizeof head, "%.*s", (int)(end - at + 1), at);
        if (strstr(end, head) != NULL)
            fail_msg("twice: %s", head);
        tables++;
    }
    assert_true(tables > 10);
    free(text);
}

/* The example of the page is a policy that passes. */
static void
test_example(void **state)
{
    char *is = page("kedge.policy.5");
    char *begin = strstr(is, ".Bd -literal\nversion: 1");
    char *end = begin == NULL ? NULL : strstr(begin, ".Ed\n");
    char *text = NULL;
    size_t n = 0;

    (void)state;
    if (begin == NULL || end == NULL)
        abort();
    begin = strchr(begin, '\n') + 1;
    text = calloc(1, (size_t)(end - begin) + 1);
    assert_non_null(text);
    for (; begin < end; begin++) {
        if (strncmp(begin, "\\e", 2) == 0)
            *++begin = '\\';
        text[n++] = *begin;
    }
    policyfix_expect("the example of kedge.policy(5)", text, "");
    free(text);
    free(is);
}

static void
test_explain(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    (void)state;
    for (size_t i = 0; i < codes_count(); i++)
        assert_true(reference_explain(codes_at(i)->code, file));
    assert_false(reference_explain("KP998", file));
    assert_int_equal(fclose(file), 0);
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");

        if (len > 79 || (len > 0 && line[len - 1] == ' '))
            fail_msg("'%.*s'", (int)len, line);
        line += len + 1;
    }
    assert_non_null(strstr(text, "KP045: acks is not all\n  why   "));
    free(text);
    text = written(reference_codes);
    assert_non_null(strstr(text, "KP001  not readable as YAML\n"));
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_manual_page),
        cmocka_unit_test(test_each_table_once),
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_explain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
