# The headers of the libraries that Onesea stands on, read once for each kind of target instead of once for each file:
# most of a build went there. Files include what they use all the same: clang reads them without this
# (scripts/second_compiler.py). A tree with ccache has no need of it.
if(ONESEA_CCACHE)
    set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

set(onesea_standard_headers algorithm array atomic chrono condition_variable cstring deque filesystem fstream functional
    map memory mutex optional random set span sstream string string_view thread unordered_map utility vector)

# onesea_headers(KIND HEADERS name... LINK library... OPTIONS option...): what targets of that kind read. A compiler
# takes it only for files with the same options and macros, so that libraries and programs are different kinds.
function(onesea_headers kind)
    cmake_parse_arguments(arg "" "" "HEADERS;LINK;OPTIONS" ${ARGN})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/headers/${kind}.cpp CONTENT "// SPDX-License-Identifier: Apache-2.0\n")
    add_library(onesea_headers_${kind} OBJECT ${CMAKE_BINARY_DIR}/headers/${kind}.cpp)
    set_target_properties(onesea_headers_${kind} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(onesea_headers_${kind} PRIVATE ${arg_OPTIONS})
    target_link_libraries(onesea_headers_${kind} PRIVATE ${arg_LINK})
    list(TRANSFORM onesea_standard_headers REPLACE "(.+)" "<\\1>" OUTPUT_VARIABLE standard)
    list(TRANSFORM arg_HEADERS REPLACE "(.+)" "<\\1>" OUTPUT_VARIABLE more)
    target_precompile_headers(onesea_headers_${kind} PRIVATE ${standard} ${more})
endfunction()

onesea_headers(layer HEADERS fmt/format.h LINK fmt::fmt OPTIONS -fPIC -fno-semantic-interposition ${ONESEA_AS_ONE})
onesea_headers(program OPTIONS -fPIE)
# Without CLI11: what it makes for the start of a program would be in every file that reads it, seconds each.
onesea_headers(tool HEADERS fmt/format.h nlohmann/json.hpp LINK fmt::fmt nlohmann_json::nlohmann_json
               OPTIONS -fPIE ${ONESEA_TOOL_SPEED})
if(ONESEA_BUILD_TESTS)
    set(test_headers HEADERS gtest/gtest.h fmt/format.h LINK GTest::gtest fmt::fmt)
    onesea_headers(test ${test_headers} OPTIONS -fPIE ${ONESEA_TEST_SPEED})
    if(ONESEA_SANITIZE) # what runs thousands of times by seed takes minutes there if it is not optimized
        onesea_headers(simulation ${test_headers} OPTIONS -fPIE ${ONESEA_TOOL_SPEED})
    endif()
endif()

# onesea_precompiled(KIND target...): targets of C++ alone. KIND simulation: tests that make many runs by seed.
function(onesea_precompiled kind)
    if(kind STREQUAL "simulation" AND NOT ONESEA_SANITIZE)
        set(kind test)
    endif()
    foreach(target ${ARGN})
        if(kind MATCHES "^(tool|simulation)$")
            target_compile_options(${target} PRIVATE ${ONESEA_TOOL_SPEED})
        elseif(kind STREQUAL "test")
            target_compile_options(${target} PRIVATE ${ONESEA_TEST_SPEED})
        endif()
        target_precompile_headers(${target} REUSE_FROM onesea_headers_${kind})
    endforeach()
endfunction()
