# The target `rdkafka`: a static librdkafka with our patch.
# KEDGE_RDKAFKA_PREFIX names an installed one (include/, lib/librdkafka.a).
set(KEDGE_RDKAFKA_PREFIX "" CACHE PATH
    "Prefix of an installed static librdkafka; empty: build one")
pkg_check_modules(rdkafka_needs REQUIRED IMPORTED_TARGET zlib libzstd)
add_library(rdkafka STATIC IMPORTED GLOBAL)
set_target_properties(rdkafka PROPERTIES
    IMPORTED_LOCATION ${KEDGE_RDKAFKA_PREFIX}/lib/librdkafka.a
    INTERFACE_INCLUDE_DIRECTORIES ${KEDGE_RDKAFKA_PREFIX}/include)
target_link_libraries(rdkafka INTERFACE OpenSSL::SSL OpenSSL::Crypto
    PkgConfig::rdkafka_needs Threads::Threads m dl)
