# SPDX-License-Identifier: Apache-2.0
# Headers of the standard library, Abseil, Eigen and GoogleTest take most of the parsing time of a
# small file. heft_precompile(TARGET KIND) parses them once for all targets of a kind: standard,
# eigen, tests. Sources still include all headers that they use: builds without precompiled headers
# must pass.
#
# Not with ccache, which takes rebuilt precompiled headers for changed ones, and not under
# sanitizers.
set(precompile ON)
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(precompile OFF)
endif()
option(HEFT_PRECOMPILED_HEADERS "Parse the headers that all files share once" ${precompile})

# Compiles sixteen sources of a library as one, because most of the compiler's work is the same for
# each of our files. A changed source recompiles its neighbours, so this too is for builds from
# nothing, not for ccache. Therefore names in a library, also in unnamed namespaces, differ from
# file to file.
option(HEFT_UNITY_BUILD "Compile a library's sources sixteen at a time" ${precompile})

set(HEFT_STANDARD_HEADERS <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <map> <memory>
    <optional> <span> <string> <string_view> <utility> <vector> <absl/status/status.h>
    <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_format.h>)

if(HEFT_PRECOMPILED_HEADERS)
  set(source ${PROJECT_BINARY_DIR}/precompiled.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "int main() { return 0; }\n")
  add_library(heft_precompiled_standard OBJECT EXCLUDE_FROM_ALL ${source})
  target_precompile_headers(heft_precompiled_standard PRIVATE ${HEFT_STANDARD_HEADERS})
  target_link_libraries(heft_precompiled_standard PRIVATE absl::statusor absl::str_format)

  add_library(heft_precompiled_eigen OBJECT EXCLUDE_FROM_ALL ${source})
  target_precompile_headers(heft_precompiled_eigen PRIVATE ${HEFT_STANDARD_HEADERS} <Eigen/Core>)
  target_link_libraries(heft_precompiled_eigen PRIVATE absl::statusor absl::str_format Eigen3::Eigen)
endif()

# Programs are compiled for an executable (-fPIE), so theirs is one.
if(HEFT_PRECOMPILED_HEADERS AND HEFT_BUILD_TESTS)
  add_executable(heft_precompiled_tests EXCLUDE_FROM_ALL ${source})
  target_precompile_headers(heft_precompiled_tests PRIVATE ${HEFT_STANDARD_HEADERS}
                            <gmock/gmock.h> <gtest/gtest.h>)
  target_link_libraries(heft_precompiled_tests PRIVATE absl::statusor absl::str_format GTest::gmock)
endif()

function(heft_precompile target kind)
  if(HEFT_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM heft_precompiled_${kind})
  endif()
endfunction()
