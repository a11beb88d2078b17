# onesea_aegis: the cipher, a static library that cargo builds of the crate in src/net/aegis. Its dependencies have their
# versions and checksums in Cargo.lock; cargo fetches them once for all build trees. It is the same in all of them, whatever
# compiles the rest: those of the presets have it made once.
set(ONESEA_AEGIS_DIR ${CMAKE_BINARY_DIR}/aegis CACHE PATH "Where cargo builds the cipher")
find_program(ONESEA_CARGO cargo)
set(onesea_cargo_version 0)
if(ONESEA_CARGO)
    execute_process(COMMAND ${ONESEA_CARGO} --version OUTPUT_VARIABLE onesea_cargo_said)
    string(REGEX MATCH "[0-9]+[.][0-9]+" onesea_cargo_version "${onesea_cargo_said}")
endif()
if(onesea_cargo_version VERSION_LESS 1.78)
    message(FATAL_ERROR "the cipher in src/net/aegis is built by cargo 1.78 or later; found: ${ONESEA_CARGO} ${onesea_cargo_said}\n"
                        "Install Rust (Debian 12: apt-get install cargo-web).")
endif()

set(onesea_aegis_sources ${CMAKE_SOURCE_DIR}/src/net/aegis)
set(onesea_aegis_library ${ONESEA_AEGIS_DIR}/release/libonesea_aegis.a)
add_custom_command(
    OUTPUT ${onesea_aegis_library}
    COMMAND ${ONESEA_CARGO} build --release --locked --quiet --manifest-path ${onesea_aegis_sources}/Cargo.toml
            --target-dir ${ONESEA_AEGIS_DIR}
    DEPENDS ${onesea_aegis_sources}/Cargo.toml ${onesea_aegis_sources}/Cargo.lock ${onesea_aegis_sources}/aegis.rs
    COMMENT "Building the cipher with cargo" VERBATIM)
add_custom_target(onesea_aegis_build DEPENDS ${onesea_aegis_library})

add_library(onesea_aegis STATIC IMPORTED GLOBAL)
set_target_properties(onesea_aegis PROPERTIES IMPORTED_LOCATION ${onesea_aegis_library})
add_dependencies(onesea_aegis onesea_aegis_build)
