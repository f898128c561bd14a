// SPDX-License-Identifier: Apache-2.0
// Checks of types and buckets, which need no job: pure functions of their arguments.
#include <algorithm>
#include <cstring>

#include "heft/shards.h"
#include "matcher/file_check.h"
#include "sql/job.h"

namespace heft::sql {
namespace {

absl::Status Check(HeftKind kind, ByteSpan bytes) {
  const auto checked = [&](FileRole role) { return CheckFile(role, bytes, "value"); };
  switch (kind) {
    case HEFT_IS_SAMPLE:
      return checked(FileRole::kSample);
    case HEFT_IS_TEMPLATE:
      return checked(FileRole::kTemplate);
    case HEFT_IS_PROBE:
      return checked(FileRole::kProbe);
    case HEFT_IS_REPLY:
      return checked(FileRole::kReply);
    case HEFT_IS_MODEL:
      return checked(FileRole::kModel);
    case HEFT_IS_KEYS:
      return checked(FileRole::kKeys);
    case HEFT_IS_REQUEST:
      return checked(FileRole::kRequest);
    case HEFT_IS_ADMISSION:
      return checked(FileRole::kAdmission);
  }
  return absl::InternalError("an unknown type");
}

}  // namespace
}  // namespace heft::sql

extern "C" int heft_bucket_of(const char* identity, size_t size, int buckets) {
  if (buckets < 1 || buckets > static_cast<int>(heft::kMaxBuckets)) return -1;
  return static_cast<int>(heft::BucketOf({identity, size}, static_cast<uint32_t>(buckets)));
}

extern "C" bool heft_check(HeftKind kind, const void* data, size_t size, char* error,
                           size_t error_size) {
  const absl::Status checked = heft::sql::Catching([&] {
    return heft::sql::Check(kind, {static_cast<const uint8_t*>(data), size});
  });
  if (checked.ok()) return true;
  const std::string message(checked.message());
  const size_t length = std::min(message.size(), error_size - 1);
  std::memcpy(error, message.data(), length);
  error[length] = 0;
  return false;
}
