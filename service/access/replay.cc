// SPDX-License-Identifier: Apache-2.0
#include "service/access/replay.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/csprng.h"
#include "base/status.h"
#include "service/access/jwt.h"

namespace heft::service {
namespace {

std::string KeyOf(std::string_view principal, std::string_view nonce) {
  ByteWriter writer;
  writer.String(principal);
  writer.String(nonce);
  const Hash hash = HashBytes(writer.bytes());
  return {hash.begin(), hash.begin() + 16};
}

}  // namespace

std::string NewNonce() {
  thread_local Csprng random;
  std::array<uint8_t, 16> bytes;
  random.Fill(bytes);
  return Base64Url(bytes);
}

ReplayGuard::ReplayGuard(const std::string& path, uint64_t most)
    : scope_{.name = "nonces", .most_entries = most}, nonces_(path) {}

absl::StatusOr<std::unique_ptr<ReplayGuard>> ReplayGuard::Open(const std::string& path,
                                                               uint64_t most) {
  std::unique_ptr<ReplayGuard> guard(new ReplayGuard(path, most));
  HEFT_RETURN_IF_ERROR(guard->nonces_.Count(guard->scope_).status());
  guard->flusher_ = std::thread([self = guard.get()] { self->Flush(); });
  return guard;
}

ReplayGuard::~ReplayGuard() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  if (flusher_.joinable()) flusher_.join();
}

absl::Status ReplayGuard::Admit(std::string_view principal, std::string_view nonce,
                                std::string_view time, uint64_t now) {
  uint64_t when = 0;
  const auto bytes = DecodeBase64Url(nonce);
  if (!bytes.ok() || bytes->size() != 16 || time.size() > 20 ||
      !absl::SimpleAtoi(std::string(time), &when)) {
    return absl::InvalidArgumentError(absl::StrCat(kNonceHeader,
                                                   " (16 random bytes, base64url) and ",
                                                   kTimeHeader, " (Unix seconds) are needed"));
  }
  if (when + kReplayWindow < now || when > now + kReplayWindow) {
    return absl::DeadlineExceededError(
        absl::StrCat(kTimeHeader, " is more than ", kReplayWindow,
                     " s from this machine's clock: set the clock and sign a new request"));
  }
  const OnceTable::Entry entry = {.key = KeyOf(principal, nonce), .expires = when + kReplayWindow};
  const auto known = nonces_.Take(scope_, {&entry, 1}, now);
  if (absl::IsResourceExhausted(known.status())) {
    return absl::ResourceExhaustedError("too many requests within the last minutes");
  }
  HEFT_RETURN_IF_ERROR(known.status());
  if (*known) return absl::AlreadyExistsError("a request with this nonce was already received");
  const std::lock_guard<std::mutex> lock(mutex_);
  dirty_ = true;
  return absl::OkStatus();
}

void ReplayGuard::Flush() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_ || dirty_) {
    changed_.wait_for(lock, std::chrono::milliseconds(200), [this] { return stopped_; });
    if (!dirty_) continue;
    dirty_ = false;
    lock.unlock();
    nonces_.Sync().IgnoreError();
    lock.lock();
  }
}

}  // namespace heft::service
