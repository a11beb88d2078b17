# Options, compiler flags and the libraries that Onesea stands on.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
option(ONESEA_BUILD_TESTS "Build the tests" ON)
option(ONESEA_BUILD_BENCH "Build the benchmarks and their tests" ON)
# Where all warnings are known; what a newer compiler finds must not keep anybody from building.
set(ONESEA_WARNINGS_KNOWN OFF)
if("${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" MATCHES "^(GNU 12|Clang 14)\\.")
    set(ONESEA_WARNINGS_KNOWN ON)
endif()
option(ONESEA_WERROR "Warnings are errors" ${ONESEA_WARNINGS_KNOWN})
option(ONESEA_FUZZ "Build the fuzzers for libFuzzer (clang only); see tests/fuzz" OFF)
set(ONESEA_SANITIZE "" CACHE STRING "address+undefined, thread or nothing")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
include(GNUInstallDirs)
# From bin and from libexec/onesea to the library, wherever the installed tree lies.
list(APPEND CMAKE_INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR} $ORIGIN/../../${CMAKE_INSTALL_LIBDIR})

add_compile_options(-Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(ONESEA_WERROR)
    add_compile_options(-Werror)
endif()
if(ONESEA_SANITIZE STREQUAL "address+undefined")
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    add_link_options(-fsanitize=address,undefined)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        # The run time of vptr and function is only in C++ programs, and the library is in C ones too. An enumeration in a
        # header of C may have any value of its type: callers get an error for a wrong one, of which the tests have many.
        add_compile_options(-fno-sanitize=vptr,function,enum)
        add_compile_definitions(__SANITIZE_ADDRESS__) # as gcc says it
    endif()
elseif(ONESEA_SANITIZE STREQUAL "thread")
    add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
    add_link_options(-fsanitize=thread)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        add_compile_definitions(__SANITIZE_THREAD__)
    endif()
elseif(ONESEA_SANITIZE)
    message(FATAL_ERROR "ONESEA_SANITIZE is '${ONESEA_SANITIZE}'; use address+undefined, thread or nothing")
endif()

if(ONESEA_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "ONESEA_FUZZ needs clang; this is ${CMAKE_CXX_COMPILER_ID}")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# A tree that is built again and again is built faster where ccache is; it is not required.
find_program(ONESEA_CCACHE ccache)
if(ONESEA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER ${ONESEA_CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${ONESEA_CCACHE})
endif()

# Files of a target are compiled some at a time: what they instantiate alike is made once. The library's own are not: it
# is compiled as one when it is linked. Each file includes what it needs and keeps its names to itself all the same: clang
# reads them one by one (scripts/second_compiler.py), with the warnings that mean nothing where several files are one.
option(ONESEA_FILES_TOGETHER "Compile several files of a target at once" ON)
set(CMAKE_UNITY_BUILD ${ONESEA_FILES_TOGETHER})
add_compile_options($<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-shadow>
    $<$<AND:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wno-subobject-linkage>)

# A message passes through dozens of short functions of many files: they are compiled as one. Only
# our shared libraries are linked so; the objects have plain code as well, with which the tests are linked in a moment.
# Copies of no fixed size are the C library's: gcc takes `rep movsq`, which src/base/copy.hpp is there to avoid, wherever it
# knows that there are at most 8 KB. -Wno-restrict: gcc 12 at -O3 sees overlaps in std::string that are none (its bug 105651).
set(ONESEA_AS_ONE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT ONESEA_SANITIZE)
    set(ONESEA_AS_ONE -O3 -flto=auto -ffat-lto-objects -Wno-restrict -mmemcpy-strategy=libcall:-1:noalign)
    add_link_options($<$<NOT:$<BOOL:$<TARGET_PROPERTY:ONESEA_AS_ONE>>>:-fno-lto>)
elseif(ONESEA_SANITIZE)
    set(ONESEA_AS_ONE -O1)
endif()

# ./dev train builds the library so that it counts how often each part of it runs, runs some benchmarks, and builds it again
# with the counts: what runs lies together then, and what does not is out of its way. What nothing ran in between is
# compiled as without counts, and so is what was changed since.
set(ONESEA_TRAINING "none" CACHE STRING "none, count (build a library that counts), or use (what it has counted); gcc only")
set(ONESEA_COUNTS ${CMAKE_BINARY_DIR}/counts)
if(NOT ONESEA_TRAINING MATCHES "^(none|count|use)$")
    message(FATAL_ERROR "ONESEA_TRAINING is '${ONESEA_TRAINING}'; it is none, count or use")
elseif(NOT ONESEA_TRAINING STREQUAL "none" AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    message(STATUS "ONESEA_TRAINING is for gcc: going on without")
    set(ONESEA_TRAINING "none")
endif()
# What gcc takes for a mistake differs with the counting, and with the counts.
if(ONESEA_TRAINING STREQUAL "count")
    set(ONESEA_AS_ONE -O3 -Wno-error -Wno-maybe-uninitialized -fprofile-generate -fprofile-update=prefer-atomic
        -fprofile-dir=${ONESEA_COUNTS})
    add_link_options(-fprofile-generate)
elseif(ONESEA_TRAINING STREQUAL "use")
    # What ran at all is to be fast: by default what ran rarely is to be short. Counts that do not fit what was changed
    # since are mended: by default a function to which they almost fit is an error.
    list(APPEND ONESEA_AS_ONE -Wno-error -Wno-maybe-uninitialized -fprofile-use -fprofile-dir=${ONESEA_COUNTS}
         -fprofile-partial-training -fprofile-correction --param=hot-bb-count-ws-permille=1000
         -Wno-missing-profile -Wno-coverage-mismatch)
endif()

# The command and what it starts read options, wait and write reports, and tests call what was optimized: no time goes
# there, and half of their compilation went to the optimizer.
set(ONESEA_TOOL_SPEED -O1)
if(CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT ONESEA_SANITIZE)
    set(ONESEA_TOOL_SPEED)
endif()
set(ONESEA_TEST_SPEED ${ONESEA_TOOL_SPEED})
if(ONESEA_SANITIZE) # which more than doubles the work of the optimizer
    set(ONESEA_TEST_SPEED)
endif()

# With a sanitizer's instructions in between gcc loses what it knew of values: it takes initialised members of the standard
# library for uninitialised and sizes for endless. The other presets and clang do give these warnings.
if(ONESEA_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)

if(ONESEA_BUILD_TESTS)
    find_package(GTest REQUIRED)
    enable_testing()
    include(GoogleTest)
endif()
