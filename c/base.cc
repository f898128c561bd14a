// SPDX-License-Identifier: Apache-2.0
#include "heft/c/base.h"

#include "c/handles.h"
#include "heft/base.h"
#include "heft/files.h"

using heft::c::Call;
using heft::c::Given;

int heft_abi(void) { return HEFT_C_ABI; }

const char* heft_version(void) { return HEFT_VERSION; }

heft_bytes heft_buffer_bytes(const heft_buffer* buffer) {
  if (buffer == nullptr || buffer->tag != heft_buffer::kTag) return {nullptr, 0};
  return {buffer->bytes.data(), buffer->bytes.size()};
}

void heft_buffer_free(heft_buffer* buffer) { heft::c::Free(buffer); }

heft_status heft_file_read(const char* path, uint64_t max_size, heft_buffer** bytes,
                           heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(path, "path", bytes, "bytes"));
    HEFT_ASSIGN_OR_RETURN(auto read,
                          heft::ReadFile(path, max_size == 0 ? heft::kMaxFileSize : max_size));
    *bytes = new heft_buffer(std::move(read));
    return absl::OkStatus();
  });
}

heft_status heft_file_write(const char* path, heft_bytes bytes, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(path, "path", bytes, "bytes"));
    return heft::WriteFile(path, heft::c::Span(bytes));
  });
}

void heft_set_thread_count(int threads) {
  Call(nullptr, [&] {
    heft::SetThreadCount(threads);
    return absl::OkStatus();
  });
}

int heft_thread_count(void) { return heft::ThreadCount(); }

const char* heft_instruction_set(void) {
  try {
    static const std::string* const name = new std::string(heft::ActiveInstructionSet());
    return name->c_str();
  } catch (...) {
    return "";
  }
}

heft_status heft_secure_memory(heft_error** error) {
  return Call(error, [] { return heft::SecureMemoryStatus(); });
}

heft_status heft_disable_core_dumps(heft_error** error) {
  return Call(error, [] { return heft::DisableCoreDumps(); });
}
