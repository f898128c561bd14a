# SPDX-License-Identifier: Apache-2.0
# Headers of the standard library, Abseil, Eigen and GoogleTest take most of the parsing time of a
# small file. heft_precompile(TARGET KIND) parses them once for all targets of a kind: standard,
# eigen, both again for light code, light programs, and tests. Sources still include all headers that they use:
# builds without precompiled headers must pass.
#
# Not with ccache, which takes rebuilt precompiled headers for changed ones. GCC has no precompiled headers under its
# sanitizers.
set(together ON)
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(together OFF)
endif()
set(precompile ${together})
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize" AND NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  set(precompile OFF)
endif()
option(HEFT_PRECOMPILED_HEADERS "Parse the headers that all files share once" ${precompile})

# Compiles sixteen sources of a target as one, because most of the compiler's work is the same for
# each of our files. A changed source recompiles its neighbours, so this too is for builds from
# nothing, not for ccache. Therefore names in a library or a test program, also in unnamed
# namespaces, differ from file to file.
option(HEFT_UNITY_BUILD "Compile a target's sources sixteen at a time" ${together})
function(heft_compile_together target)
  if(HEFT_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

# GCC otherwise collects garbage in its heap from 128 MB on, which takes 8% of its time.
if(HEFT_UNITY_BUILD)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)
endif()

set(HEFT_STANDARD_HEADERS <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <map> <memory>
    <optional> <span> <string> <string_view> <utility> <vector> <absl/status/status.h>
    <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_format.h>)

# heft_light(TARGET): compiles code that carries data to the arithmetic and back with -O1. GCC
# took two thirds of the time of -O3 for three files of tests. The arithmetic keeps -O3.
function(heft_light target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# heft_precompiled(KIND [LIGHT] [PROGRAM] HEADERS ... PACKAGES ...)
function(heft_precompiled kind)
  cmake_parse_arguments(ARG "LIGHT;PROGRAM" "" "HEADERS;PACKAGES" ${ARGN})
  set(target heft_precompiled_${kind})
  if(ARG_PROGRAM)
    # Programs are compiled for an executable (-fPIE), so theirs is one.
    add_executable(${target} EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled.cc)
  else()
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled.cc)
  endif()
  target_precompile_headers(${target} PRIVATE ${HEFT_STANDARD_HEADERS} ${ARG_HEADERS})
  target_link_libraries(${target} PRIVATE absl::statusor absl::str_format ${ARG_PACKAGES})
  if(ARG_LIGHT)
    heft_light(${target})
  endif()
endfunction()

if(HEFT_PRECOMPILED_HEADERS)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cc CONTENT "int main() { return 0; }\n")
  heft_precompiled(standard)
  heft_precompiled(light_standard LIGHT)
  heft_precompiled(eigen HEADERS <Eigen/Core> PACKAGES Eigen3::Eigen)
  heft_precompiled(light_eigen LIGHT HEADERS <Eigen/Core> PACKAGES Eigen3::Eigen)
  heft_precompiled(light_programs LIGHT PROGRAM)
  if(HEFT_BUILD_TESTS)
    heft_precompiled(tests LIGHT PROGRAM HEADERS <gmock/gmock.h> <gtest/gtest.h> PACKAGES GTest::gmock)
  endif()
endif()

function(heft_precompile target kind)
  if(HEFT_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM heft_precompiled_${kind})
  endif()
endfunction()
