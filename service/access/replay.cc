// SPDX-License-Identifier: Apache-2.0
// The file is a list of records of 24 bytes: time (u64), hash of principal and nonce (16 bytes). A
// record is written before its request is taken, and flushed five times a second. A killed process
// loses nothing; a power failure may lose the records of the last fifth of a second.
#include "service/access/replay.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/csprng.h"
#include "base/files.h"
#include "service/access/jwt.h"

namespace heft::service {
namespace {

constexpr size_t kRecord = 24;
constexpr uint64_t kSpare = 1 << 16;  // expired records before the file is rewritten

using Key = std::array<uint8_t, 16>;

struct KeyHash {
  size_t operator()(const Key& key) const {
    size_t out;
    std::memcpy(&out, key.data(), sizeof out);
    return out;
  }
};

Key KeyOf(std::string_view principal, std::string_view nonce) {
  ByteWriter writer;
  writer.String(principal);
  writer.String(nonce);
  const Hash hash = HashBytes(writer.bytes());
  Key key;
  std::copy_n(hash.begin(), key.size(), key.begin());
  return key;
}

void AddRecord(ByteWriter* writer, uint64_t time, const Key& key) {
  writer->U64(time);
  writer->Raw(key);
}

class FileGuard : public ReplayGuard {
 public:
  FileGuard(std::string path, uint64_t most) : path_(std::move(path)), most_(most) {}
  ~FileGuard() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    if (flusher_.joinable()) flusher_.join();
    if (fd_ >= 0) {
      fdatasync(fd_);
      close(fd_);
    }
  }

  absl::Status Load() {
    HEFT_ASSIGN_OR_RETURN(FileLock held,
                          FileLock::Take(path_ + ".lock", 0600,
                                         path_ + ": another process uses this file of nonces"));
    lock_.emplace(std::move(held));
    if (FileExists(path_)) {
      HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                            ReadFile(path_, kRecord * (2 * most_ + kSpare)));
      // Half a record at the end belongs to a request that was not taken.
      for (size_t at = 0; at + kRecord <= bytes.size(); at += kRecord) {
        ByteReader reader(ByteSpan(bytes).subspan(at, kRecord), "nonce");
        const uint64_t time = reader.U64();
        Key key;
        std::copy_n(bytes.begin() + at + 8, key.size(), key.begin());
        if (seen_.insert(key).second) times_[time].push_back(key);
      }
    }
    HEFT_RETURN_IF_ERROR(Rewrite());
    flusher_ = std::thread([this] { Flush(); });
    return absl::OkStatus();
  }

  absl::Status Admit(std::string_view principal, std::string_view nonce, std::string_view time,
                     uint64_t now) override {
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
    const Key key = KeyOf(principal, nonce);
    const std::lock_guard<std::mutex> lock(mutex_);
    Forget(now);
    if (seen_.contains(key)) {
      return absl::AlreadyExistsError("a request with this nonce was already received");
    }
    if (seen_.size() >= most_) {
      return absl::ResourceExhaustedError("too many requests within the last minutes");
    }
    HEFT_RETURN_IF_ERROR(Write(when, key));
    seen_.insert(key);
    times_[when].push_back(key);
    return absl::OkStatus();
  }

  uint64_t remembered() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return seen_.size();
  }

 private:
  void Forget(uint64_t now) {
    while (!times_.empty() && times_.begin()->first + kReplayWindow < now) {
      for (const Key& key : times_.begin()->second) seen_.erase(key);
      times_.erase(times_.begin());
    }
  }

  absl::Status Write(uint64_t time, const Key& key) {
    if (path_.empty()) return absl::OkStatus();
    if (records_ > 2 * seen_.size() + kSpare) HEFT_RETURN_IF_ERROR(Rewrite());
    ByteWriter writer;
    AddRecord(&writer, time, key);
    const auto& bytes = writer.bytes();
    // At a fixed place, so that the next record overwrites half a record.
    const ssize_t n = pwrite(fd_, bytes.data(), bytes.size(), kRecord * records_);
    if (n != static_cast<ssize_t>(bytes.size())) {
      return absl::UnavailableError(
          absl::StrCat("cannot write ", path_, ": ", n < 0 ? std::strerror(errno) : "disk full"));
    }
    ++records_;
    dirty_ = true;
    return absl::OkStatus();
  }

  // Rewrite: replaces the file with the records that are remembered now.
  absl::Status Rewrite() {
    ByteWriter writer;
    uint64_t records = 0;
    for (const auto& [time, keys] : times_) {
      for (const Key& key : keys) AddRecord(&writer, time, key);
      records += keys.size();
    }
    HEFT_RETURN_IF_ERROR(WriteFileAtomic(path_, writer.bytes(), 0600));
    const int fd = open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
      return absl::UnavailableError(
          absl::StrCat("cannot open ", path_, ": ", std::strerror(errno)));
    }
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
    records_ = records;
    return absl::OkStatus();
  }

  void Flush() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopped_) {
      changed_.wait_for(lock, std::chrono::milliseconds(200), [this] { return stopped_; });
      if (!dirty_) continue;
      dirty_ = false;
      const int fd = dup(fd_);
      lock.unlock();
      if (fd >= 0) {
        fdatasync(fd);
        close(fd);
      }
      lock.lock();
    }
  }

  const std::string path_;
  const uint64_t most_;
  std::optional<FileLock> lock_;
  mutable std::mutex mutex_;
  std::unordered_set<Key, KeyHash> seen_;
  std::map<uint64_t, std::vector<Key>> times_;
  int fd_ = -1;
  uint64_t records_ = 0;  // in the file
  bool dirty_ = false, stopped_ = false;
  std::condition_variable changed_;
  std::thread flusher_;
};

}  // namespace

std::string NewNonce() {
  thread_local Csprng random;
  std::array<uint8_t, 16> bytes;
  random.Fill(bytes);
  return Base64Url(bytes);
}

absl::StatusOr<std::unique_ptr<ReplayGuard>> ReplayGuard::Open(const std::string& path,
                                                               uint64_t most) {
  auto guard = std::make_unique<FileGuard>(path, most);
  if (!path.empty()) HEFT_RETURN_IF_ERROR(guard->Load());
  return guard;
}

}  // namespace heft::service
