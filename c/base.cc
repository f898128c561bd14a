// SPDX-License-Identifier: Apache-2.0
#include "heft/c/base.h"

#include <atomic>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "c/handles.h"
#include "heft/base.h"
#include "heft/files.h"

namespace heft::c {
namespace {

absl::StatusOr<uint64_t> MaxSizeOf(std::string_view kind) {
  // The last three are small.
  constexpr std::pair<std::string_view, uint64_t> kKinds[] = {
      {"", kMaxFileSize},           {"model", kMaxModelSize}, {"keys", kMaxKeysSize},
      {"samples", kMaxSamplesSize}, {"reply", kMaxReplySize}, {"canaries", 1 << 25},
      {"ceremony", 1 << 16},        {"seed", 1 << 12}};
  for (const auto& [name, max_size] : kKinds) {
    if (kind == name) return max_size;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no kind of file \"", std::string(kind), "\": see heft_file_read"));
}

}  // namespace
}  // namespace heft::c

using heft::c::Call;
using heft::c::Given;

int heft_abi(void) { return HEFT_C_ABI; }

const char* heft_version(void) { return HEFT_VERSION; }

heft_bytes heft_buffer_bytes(const heft_buffer* buffer) {
  if (buffer == nullptr || buffer->tag != heft_buffer::kTag) return {nullptr, 0};
  return {buffer->bytes.data(), buffer->bytes.size()};
}

heft_status heft_buffer_copy(heft_bytes bytes, heft_buffer** buffer, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(bytes, "bytes", buffer, "buffer"));
    const auto span = heft::c::Span(bytes);
    *buffer = new heft_buffer({span.begin(), span.end()});
    return absl::OkStatus();
  });
}

void heft_buffer_free(heft_buffer* buffer) { heft::c::Free(buffer); }

heft_status heft_file_read(const char* path, const char* kind, heft_buffer** bytes,
                           heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(path, "path", kind, "kind", bytes, "bytes"));
    HEFT_ASSIGN_OR_RETURN(const uint64_t max_size, heft::c::MaxSizeOf(kind));
    HEFT_ASSIGN_OR_RETURN(auto read, heft::ReadFile(path, max_size));
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

void heft_set_interrupted_check(heft_interrupted interrupted) {
  static std::atomic<heft_interrupted> check = nullptr;
  check = interrupted;
  // Never null from here on: another thread may be calling it.
  heft::SetInterruptedCheck(+[] {
    const heft_interrupted now = check.load();
    return now != nullptr && heft::c::CallBack(now) != 0;
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

heft_status heft_instruction_sets(heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(result, "result"));
    heft::Json sets = heft::Json::array();
    for (const std::string& name : heft::InstructionSets()) sets.push_back(name);
    *result = new heft_result(std::move(sets));
    return absl::OkStatus();
  });
}

heft_status heft_give_way(heft_error** error) {
  return Call(error, [] { return heft::GiveWay(); });
}

heft_status heft_secure_memory(heft_error** error) {
  return Call(error, [] { return heft::SecureMemoryStatus(); });
}

heft_status heft_disable_core_dumps(heft_error** error) {
  return Call(error, [] { return heft::DisableCoreDumps(); });
}
