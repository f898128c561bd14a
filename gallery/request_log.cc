// SPDX-License-Identifier: Apache-2.0
#include "gallery/request_log.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "heft/server.h"
#include "store/once.h"

namespace heft {
namespace {

constexpr OnceTable::Scope kTaken = {
    .name = "requests", .most_entries = RequestLog::kMaxRows, .durable = true};

// KeyOf: the key of all rows is the beginning of each row's. So either meets the other.
std::string KeyOf(const TakenRow& taken) {
  ByteWriter writer;
  writer.Raw(taken.id);
  if (taken.row != kAllRows) writer.U64(taken.row);
  return {writer.bytes().begin(), writer.bytes().end()};
}

}  // namespace

RequestId RequestIdOf(const SignerKey& signer, const std::array<uint8_t, 16>& nonce) {
  ByteWriter writer;
  writer.Raw(signer);
  writer.Raw(nonce);
  const Hash hash = HashBytes(writer.bytes());
  RequestId id;
  std::copy_n(hash.begin(), id.size(), id.begin());
  return id;
}

RequestLog::RequestLog(const std::string& folder)
    : path_(absl::StrCat(folder, "/", std::string(kOnceFile))) {}

absl::StatusOr<FileLock> RequestLog::Lock() const {
  return FileLock::Take(OnceTable::LockPath(path_), 0600);
}

absl::Status RequestLog::CopyTo(const std::string& folder) const {
  if (!FileExists(path_)) return absl::OkStatus();
  return OnceTable::Copy(path_, RequestLog(folder).path_);
}

absl::StatusOr<std::optional<size_t>> RequestLog::Take(std::span<const TakenRow> request,
                                                       uint64_t now) const {
  std::vector<OnceTable::Entry> entries;
  for (const TakenRow& taken : request) {
    entries.push_back({.key = KeyOf(taken), .expires = taken.expires + kClockSkew});
  }
  auto known = OnceTable::Of(path_)->Take(kTaken, entries, now);
  if (!absl::IsResourceExhausted(known.status())) return known;
  return absl::ResourceExhaustedError(absl::StrCat(
      path_, ": ", kMaxRows,
      " requests are still valid, and no more can be remembered: try again when some have expired, "
      "and sign requests for a shorter time (heft encrypt --valid-for)"));
}

}  // namespace heft
