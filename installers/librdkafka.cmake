# The target `rdkafka`: a static librdkafka, not older than the floor below and
# with our patch (docs/librdkafka-patch.md).  From one of, in this order:
#   KEDGE_RDKAFKA_PREFIX   an installed one: include/ and lib/librdkafka.a
#   KEDGE_RDKAFKA_SOURCE   a source tree; a patched copy of it is built
#   neither                the newest Debian source package
# Both may also come from the environment.  A build is cached for all presets.
set(KEDGE_RDKAFKA_FLOOR 2.10.1)
set(KEDGE_RDKAFKA_PREFIX "$ENV{KEDGE_RDKAFKA_PREFIX}" CACHE PATH
    "Prefix of an installed static librdkafka; empty: build one")
set(KEDGE_RDKAFKA_SOURCE "$ENV{KEDGE_RDKAFKA_SOURCE}" CACHE PATH
    "Source tree of librdkafka; empty: the newest Debian source package")

# A normal variable, so that the next configure asks the cache again.
set(prefix "${KEDGE_RDKAFKA_PREFIX}")
if(NOT prefix)
    execute_process(
        COMMAND ${CMAKE_CURRENT_LIST_DIR}/librdkafka-build
            ${KEDGE_RDKAFKA_SOURCE}
        OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE
        RESULT_VARIABLE failed)
    if(failed)
        message(FATAL_ERROR "librdkafka could not be built. "
            "KEDGE_RDKAFKA_SOURCE or KEDGE_RDKAFKA_PREFIX may name one.")
    endif()
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_LIST_DIR}/librdkafka-build
    ${CMAKE_CURRENT_LIST_DIR}/librdkafka-patch)

set(header ${prefix}/include/librdkafka/rdkafka.h)
if(NOT EXISTS ${header} OR NOT EXISTS ${prefix}/lib/librdkafka.a)
    message(FATAL_ERROR "${prefix}: no static librdkafka there")
endif()
file(STRINGS ${header} line REGEX "^#define RD_KAFKA_VERSION +0x")
string(REGEX MATCH "0x(..)(..)(..)" line "${line}")
foreach(part 1 2 3)
    math(EXPR part "0x${CMAKE_MATCH_${part}}")
    list(APPEND KEDGE_RDKAFKA_VERSION ${part})
endforeach()
list(JOIN KEDGE_RDKAFKA_VERSION . KEDGE_RDKAFKA_VERSION)
if(KEDGE_RDKAFKA_VERSION VERSION_LESS KEDGE_RDKAFKA_FLOOR)
    message(FATAL_ERROR "${prefix}: librdkafka ${KEDGE_RDKAFKA_VERSION} is "
        "older than ${KEDGE_RDKAFKA_FLOOR}")
endif()
message(STATUS "librdkafka ${KEDGE_RDKAFKA_VERSION} in ${prefix}")

pkg_check_modules(rdkafka_needs REQUIRED IMPORTED_TARGET zlib libzstd)
add_library(rdkafka STATIC IMPORTED GLOBAL)
set_target_properties(rdkafka PROPERTIES
    IMPORTED_LOCATION ${prefix}/lib/librdkafka.a
    INTERFACE_INCLUDE_DIRECTORIES ${prefix}/include)
target_link_libraries(rdkafka INTERFACE OpenSSL::SSL OpenSSL::Crypto
    PkgConfig::rdkafka_needs Threads::Threads m dl)
unset(prefix)
