# The house as targets: one static library per folder of src/, linked only to the layers below it.

# onesea_tool_library(NAME source...): what several of our own programs are linked with.
function(onesea_tool_library name)
    add_library(${name} STATIC ${ARGN})
    target_compile_options(${name} PRIVATE -fPIE)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    onesea_precompiled(tool ${name})
endfunction()

# onesea_layer(NAME [PROGRAMS_ONLY] [SIMULATED] DEPENDS layer... LINK library... TESTED_WITH file...): src/NAME/*.cpp without
# tests; its *_test.cpp become NAME_tests, with those files of the folder that are for tests alone. PROGRAMS_ONLY: no part
# of a shared library. SIMULATED: its tests make many runs by seed.
function(onesea_layer name)
    cmake_parse_arguments(arg "PROGRAMS_ONLY;SIMULATED" "" "DEPENDS;LINK;TESTED_WITH" ${ARGN})
    list(TRANSFORM arg_TESTED_WITH PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/src/${name}/)
    file(GLOB sources CONFIGURE_DEPENDS src/${name}/*.cpp)
    file(GLOB tests CONFIGURE_DEPENDS src/${name}/*_test.cpp)
    list(APPEND tests ${arg_TESTED_WITH})
    if(tests)
        list(REMOVE_ITEM sources ${tests})
    endif()
    list(TRANSFORM arg_DEPENDS PREPEND onesea_ OUTPUT_VARIABLE below)
    if(arg_PROGRAMS_ONLY)
        onesea_tool_library(onesea_${name} ${sources})
    else()
        add_library(onesea_${name} STATIC ${sources})
        target_compile_options(onesea_${name} PRIVATE -fno-semantic-interposition ${ONESEA_AS_ONE})
        set_target_properties(onesea_${name} PROPERTIES UNITY_BUILD OFF)
        onesea_precompiled(layer onesea_${name})
    endif()
    target_include_directories(onesea_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(onesea_${name} PUBLIC ${below} ${arg_LINK} Threads::Threads)
    set_property(GLOBAL APPEND PROPERTY onesea_layers onesea_${name})
    if(tests AND ONESEA_BUILD_TESTS)
        add_executable(${name}_tests ${tests})
        if(arg_SIMULATED)
            onesea_precompiled(simulation ${name}_tests)
        else()
            onesea_precompiled(test ${name}_tests)
        endif()
        target_include_directories(${name}_tests PRIVATE ${CMAKE_SOURCE_DIR}/tests/harness)
        target_link_libraries(${name}_tests PRIVATE onesea_${name} GTest::gtest_main GTest::gmock)
        gtest_discover_tests(${name}_tests TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST)
    endif()
endfunction()

# Threads, handlers and what is done at exit outlive a dlclose() of our shared libraries.
set(ONESEA_STAYS -Wl,-z,nodelete)

# onesea_library(layer...): libonesea, all those layers in one shared library that exports sea_* and nothing else.
function(onesea_library)
    set(objects)
    foreach(layer ${ARGN})
        list(APPEND objects $<TARGET_OBJECTS:onesea_${layer}>)
    endforeach()
    add_library(onesea SHARED ${objects})
    add_library(onesea::onesea ALIAS onesea)
    target_include_directories(onesea PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(onesea PRIVATE fmt::fmt PkgConfig::sodium onesea_aegis Threads::Threads)
    target_link_options(onesea PRIVATE ${ONESEA_AS_ONE} ${ONESEA_STAYS}
                        -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/onesea.map)
    set_target_properties(onesea PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                            LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/onesea.map ONESEA_AS_ONE TRUE)
endfunction()

# onesea_program(NAME source...): a program over onesea.h alone, as a user would build it.
function(onesea_program name)
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE onesea::onesea)
endfunction()

# onesea_install_command(target...): part of what users type; goes to bin.
function(onesea_install_command)
    set_property(GLOBAL APPEND PROPERTY onesea_commands ${ARGN})
endfunction()

# onesea_install_helper(target...): started by the command only; built into libexec/onesea, installed there too, so that
# the command finds it at ../libexec/onesea from its own place in both trees.
function(onesea_install_helper)
    set_target_properties(${ARGN} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/onesea)
    set_property(GLOBAL APPEND PROPERTY onesea_helpers ${ARGN})
endfunction()

# onesea_compat(NAME PACKAGE source...): libNAME, a shared library over onesea.h alone, with its include/ folder, the
# exports of libNAME.map, and a description for pkg-config under the name PACKAGE. Target NAME, alias onesea::NAME.
function(onesea_compat name package)
    add_library(${name} SHARED ${ARGN})
    add_library(onesea::${name} ALIAS ${name})
    target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${name} PUBLIC onesea)
    target_compile_options(${name} PRIVATE -fno-semantic-interposition ${ONESEA_AS_ONE})
    set(map ${CMAKE_CURRENT_SOURCE_DIR}/lib${name}.map)
    target_link_options(${name} PRIVATE ${ONESEA_AS_ONE} ${ONESEA_STAYS} -Wl,--version-script=${map})
    set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                             LINK_DEPENDS ${map} ONESEA_AS_ONE TRUE UNITY_BUILD OFF)
    set_property(GLOBAL APPEND PROPERTY onesea_compat_targets ${name})
    set_property(GLOBAL APPEND PROPERTY onesea_compat_packages ${package})
    set_property(GLOBAL APPEND PROPERTY onesea_compat_includes ${CMAKE_CURRENT_SOURCE_DIR}/include/)
endfunction()
