# The explorer of the lane protocol, and the same with a fault put into the
# code by an edit that must apply exactly once: each fault must be found.
set(world tests/unit/explore.c tests/unit/world.c tests/unit/worldmoves.c
    tests/unit/worldstore.c tests/unit/worldsum.c)
list(TRANSFORM world PREPEND ${PROJECT_SOURCE_DIR}/)

function(kedge_explorer name)
    add_executable(${name} ${world} ${ARGN})
    target_include_directories(${name} PRIVATE
        ${PROJECT_SOURCE_DIR}/agent/forward ${PROJECT_SOURCE_DIR}/tests/unit)
    target_compile_options(${name} PRIVATE -O2)
    target_link_libraries(${name} PRIVATE kedge_forward kedge_base
        kedge_flags)
endfunction()

# FILE of agent/forward with FROM replaced by TO; SCENARIO must find BROKEN.
function(kedge_mutant name file from to scenario broken)
    set(source ${PROJECT_SOURCE_DIR}/agent/forward/${file}.c)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(READ ${source} text)
    string(REPLACE "${from}" "" without "${text}")
    string(LENGTH "${text}" before)
    string(LENGTH "${without}" after)
    string(LENGTH "${from}" length)
    math(EXPR left "${before} - ${after}")
    if(NOT left EQUAL length)
        message(FATAL_ERROR "mutant ${name}: not exactly once in ${file}.c")
    endif()
    string(REPLACE "${from}" "${to}" text "${text}")
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}/${file}.c
        CONTENT "${text}" @ONLY)
    kedge_explorer(explore_${name}
        ${CMAKE_CURRENT_BINARY_DIR}/${name}/${file}.c)
    add_test(NAME explore_${name}
        COMMAND explore_${name} ${scenario} ${broken})
endfunction()

kedge_explorer(explore)
add_test(NAME explore COMMAND explore)
set_tests_properties(explore PROPERTIES TIMEOUT 900)

kedge_mutant(record_before_entry lanes
    "    part->phase = PHASE_ENTERING; /* the next commit carries it */"
    "    part->tracker = tracker_new(offset, &(struct err){ .retry = false });
    part->phase = PHASE_OPEN;
    lanes->o.ops->open(lanes->o.ctx, part);"
    "two crashes, latest" "order")
kedge_mutant(entry_before_ack parts
    "    entry->next_offset = tracker_next(part->tracker);"
    "    entry->next_offset = tracker_read_next(part->tracker);"
    "crash" "lost")
kedge_mutant(fenced_is_somebody_else lanebook
    "        metric_add(lanes->o.metrics, METRIC_FENCED, 1);"
    "        lane->assigned = false;"
    "time-out" "stuck")
kedge_mutant(late_init_is_somebody_else lanebook
    "        metric_add(lanes->o.metrics, METRIC_FENCED, 1);"
    "        lane->assigned = false;"
    "zombie" "stuck")
kedge_mutant(joins_before_headers lanes
    "        lanes->o.store.ops->headers(lanes->o.store.self);"
    "        lanes->starting = false;
        lanes->joined = lanes->o.group.ops->join(lanes->o.group.self,
            &(struct err){ .retry = false });"
    "wrong site" "wrong site joined")
