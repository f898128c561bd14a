// SPDX-License-Identifier: Apache-2.0
// The console's files, embedded in the program (console/embed.cmake writes files.cc).
#ifndef HEFT_SERVICE_CONSOLE_FILES_H_
#define HEFT_SERVICE_CONSOLE_FILES_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace heft::service {

struct ConsoleFile {
  const char* name;
  const char* content_type;
  const uint8_t* bytes;
  size_t size;
};
std::span<const ConsoleFile> ConsoleFiles();

}  // namespace heft::service

#endif  // HEFT_SERVICE_CONSOLE_FILES_H_
