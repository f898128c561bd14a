# SPDX-License-Identifier: Apache-2.0
# Headers of the standard library and Abseil are most of what a small file parses.
# heft_precompile(LIBRARY) has them parsed once for all libraries. Sources include what they use all
# the same: builds without precompiled headers must pass.
#
# Not for ccache, which takes them for changed whenever they are built anew.
option(HEFT_PRECOMPILED_HEADERS "Parse the headers that all files share once" OFF)

set(HEFT_STANDARD_HEADERS <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <map> <memory>
    <optional> <span> <string> <string_view> <utility> <vector> <absl/status/status.h>
    <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_format.h>)

if(HEFT_PRECOMPILED_HEADERS)
  set(source ${PROJECT_BINARY_DIR}/precompiled.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Only its headers count.\n")
  add_library(heft_precompiled OBJECT EXCLUDE_FROM_ALL ${source})
  target_precompile_headers(heft_precompiled PRIVATE ${HEFT_STANDARD_HEADERS})
  target_link_libraries(heft_precompiled PRIVATE absl::statusor absl::str_format)
endif()

function(heft_precompile target)
  if(HEFT_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM heft_precompiled)
  endif()
endfunction()
