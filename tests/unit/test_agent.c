#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "adminc.h"
#include "adminsocket.h"
#include "agent.h"
#include "agentfix.h"
#include "flowfake.h"
#include "loop.h"

#include <pthread.h>
#include <signal.h>

/* An agent on the main thread, and somebody outside of it. */
struct place {
    struct agentfix fix;
    struct agent_options options;
    struct agent *agent;
    char *found; /* what was printed of the policy */
    size_t found_len;
};

static void
begin(struct place *place, const char *flows)
{
    struct err err;

    flowfake = (struct flowfake){ 0 };
    agentfix_new(&place->fix);
    agentfix_write(&place->fix, flows);
    place->found = NULL;
    place->options = (struct agent_options){ .policy = place->fix.path,
        .name = "edge1",
        .clock = clock_system(),
        .findings = open_memstream(&place->found, &place->found_len) };
    place->agent = agent_new(&place->options, &err);
    assert_non_null(place->agent);
}

static void
end(struct place *place)
{
    agent_free(place->agent);
    assert_int_equal(fclose(place->options.findings), 0);
    free(place->found);
    agentfix_free(&place->fix);
    assert_int_equal(flowfake_count(), 0);
    assert_int_equal(flowfake.open_kafka, 0);
}

/* Asks until the answer has `want` in it. */
static bool
wait_for(const struct place *place, const char *path, const char *want)
{
    const struct adminc_request request = { .socket = place->fix.socket,
        .method = "GET",
        .path = path,
        .accept = "text/plain" };
    bool seen = false;

    while (!seen) {
        struct adminc_reply reply;
        struct err err;

        if (!adminc_call(&request, clock_system(), &reply, &err))
            return false;
        seen = strstr(reply.body, want) != NULL;
        adminc_reply_free(&reply);
    }
    return true;
}

/* What somebody outside does while the agent runs.  True: all as expected. */
typedef bool outside_fn(struct place *place);

struct outside {
    struct place *place;
    outside_fn *fn;
    bool ok;
};

static void *
run_outside(void *arg)
{
    struct outside *outside = arg;

    outside->ok = outside->fn(outside->place);
    (void)kill(getpid(), SIGTERM);
    return NULL;
}

static void
run(struct place *place, outside_fn *fn, enum agent_end want)
{
    struct outside outside = { .place = place, .fn = fn };
    enum agent_end how;
    pthread_t thread;
    struct err err;

    if (!agent_start(place->agent, &err))
        fail_msg("%s", err.text);
    assert_int_equal(pthread_create(&thread, NULL, run_outside, &outside), 0);
    assert_true(agent_run(place->agent, &how, &err));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(outside.ok);
    assert_int_equal(how, want);
}

static bool
look(struct place *place)
{
    return wait_for(place, "/connectors", "[\"a\",\"b\"]") &&
           wait_for(place, "/livez", "ok") &&
           wait_for(place, "/", "kedge " KEDGE_VERSION " on edge1");
}

static void
test_runs_and_drains(void **state)
{
    struct place place;

    (void)state;
    begin(&place, AGENTFIX_FLOW("a", "x") AGENTFIX_FLOW("b", "y"));
    run(&place, look, AGENT_DRAINED);
    agent_stop(place.agent);
    assert_int_equal(access(place.fix.socket, F_OK), -1);
    end(&place);
}

static bool
reload_good(struct place *place)
{
    agentfix_write(&place->fix,
        AGENTFIX_FLOW("a", "xy") AGENTFIX_FLOW("c", "z"));
    return kill(getpid(), SIGHUP) == 0 &&
           wait_for(place, "/connectors", "[\"a\",\"c\"]");
}

static void
test_reload(void **state)
{
    struct place place;

    (void)state;
    begin(&place, AGENTFIX_FLOW("a", "x"));
    run(&place, reload_good, AGENT_DRAINED);
    agent_stop(place.agent);
    end(&place);
}

static bool
reload_bad(struct place *place)
{
    agentfix_file(&place->fix, "p", "version: 7\n", 0600, NULL);
    if (kill(getpid(), SIGHUP) != 0 ||
        !wait_for(place, "/", "the last reload was refused") ||
        !wait_for(place, "/connectors", "[\"a\"]"))
        return false;
    return unlink(place->fix.path) == 0 && kill(getpid(), SIGHUP) == 0 &&
           wait_for(place, "/connectors", "[\"a\"]");
}

static void
test_refused_reload_changes_nothing(void **state)
{
    struct place place;

    (void)state;
    begin(&place, AGENTFIX_FLOW("a", "x"));
    run(&place, reload_bad, AGENT_DRAINED);
    assert_int_equal(flowfake.made, 1);
    (void)fflush(place.options.findings);
    assert_string_equal(place.found, ""); /* they are in the log */
    agent_stop(place.agent);
    end(&place);
}

static bool
look_once(struct place *place)
{
    return wait_for(place, "/livez", "ok");
}

static void
test_not_everything_was_written(void **state)
{
    struct place place;

    (void)state;
    begin(&place, AGENTFIX_FLOW("a", "x"));
    flowfake.unclean = true;
    run(&place, look_once, AGENT_CUT);
    agent_abandon(place.agent);
    assert_int_equal(access(place.fix.socket, F_OK), -1);
    agent_stop(place.agent); /* a process would end here */
    end(&place);
}

static bool
term_before_the_other(struct place *place)
{
    return wait_for(place, "/livez", "ok") && kill(getpid(), SIGINT) == 0 &&
           wait_for(place, "/livez", "ok");
}

static void
test_second_signal_does_not_wait(void **state)
{
    struct place place;

    (void)state;
    begin(&place, AGENTFIX_FLOW("a", "x"));
    flowfake.hang = true; /* it would take 25 s */
    run(&place, term_before_the_other, AGENT_CUT);
    flowfake_find("a")->stopped = true;
    agent_stop(place.agent);
    end(&place);
}

static void
refuse_policy(struct place *place)
{
    agentfix_file(&place->fix, "p", "version: 7\n", 0600, NULL);
}

static void
remove_policy(struct place *place)
{
    assert_int_equal(unlink(place->fix.path), 0);
}

static void
age_library(struct place *place)
{
    (void)place;
    flowfake.old_library = true;
}

static void
block_socket(struct place *place)
{
    agentfix_file(&place->fix, "s", "", 0600, NULL);
}

static void
fail_flow(struct place *place)
{
    (void)place;
    flowfake.fail_start = "a";
}

static const struct {
    const char *label;
    void (*spoil)(struct place *place);
    enum err_kind want;
    const char *want_err;
} bad[] = {
    { "a policy that is refused", refuse_policy, ERR_POLICY, "policy: " },
    { "no policy", remove_policy, ERR_MISSING, "policy: " },
    { "a library that is too old", age_library, ERR_CONFIG, "libraries: " },
    { "something in the socket's place", block_socket, ERR_CONFIG, "admin: " },
    { "a flow that cannot be started", fail_flow, ERR_IO, "flows: flow a: " },
};

/* Whatever was started by then is stopped, from the bottom up. */
static void
test_failing_start(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct place place;
        struct err err = { 0 };

        print_message("%s\n", bad[i].label);
        begin(&place, AGENTFIX_FLOW("a", "x"));
        bad[i].spoil(&place);
        assert_false(agent_start(place.agent, &err));
        assert_int_equal(err.kind, bad[i].want);
        assert_memory_equal(err.text, bad[i].want_err, strlen(bad[i].want_err));
        end(&place);
    }
}

static void
test_second_agent(void **state)
{
    struct place place;
    struct err err = { 0 };
    int fd;

    (void)state;
    begin(&place, AGENTFIX_FLOW("a", "x"));
    fd = adminsocket_unix(place.fix.socket, &err);
    assert_int_not_equal(fd, -1);
    assert_false(agent_start(place.agent, &err));
    assert_non_null(strstr(err.text, "another agent answers on"));
    close(fd);
    end(&place);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_and_drains),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_refused_reload_changes_nothing),
        cmocka_unit_test(test_not_everything_was_written),
        cmocka_unit_test(test_second_signal_does_not_wait),
        cmocka_unit_test(test_failing_start),
        cmocka_unit_test(test_second_agent),
    };
    struct err err;

    if (!loop_block_signals(&err))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
