# SPDX-License-Identifier: Apache-2.0
# Headers of the standard library, Abseil, Eigen and GoogleTest are most of what a small file parses.
# heft_precompile(TARGET KIND) has them parsed once for all targets of a kind: standard, eigen, tests.
# Sources include what they use all the same: builds without precompiled headers must pass.
#
# Not where ccache compiles, which takes them for changed whenever they are built anew, nor under
# sanitizers.
set(precompile ON)
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(precompile OFF)
endif()
option(HEFT_PRECOMPILED_HEADERS "Parse the headers that all files share once" ${precompile})

# Of a library's sources sixteen at a time are compiled as one: most of what a compiler does for a file
# of ours, it does again for the next one. A source that is changed takes its neighbours along,
# so this too is for builds from nothing, not for ccache's. Names in a library, those of unnamed
# namespaces too, differ from file to file because of it.
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
