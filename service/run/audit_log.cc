// SPDX-License-Identifier: Apache-2.0
#include "service/run/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/audit_chain.h"
#include "base/files.h"
#include "base/status.h"
#include "service/json.h"
#include "service/run/utc_time.h"

namespace heft::service {
namespace {

using audit::CannotDo;
using audit::Chain;
using audit::HashOf;
using audit::NumberOf;
using audit::RotatedFiles;

constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

class FileLog : public AuditLog {
 public:
  FileLog(std::string path, FileLock lock, int fd, Chain chain, uint64_t longest,
          RotatedFiles rotated)
      : path_(std::move(path)),
        lock_(std::move(lock)),
        longest_(longest),
        fd_(fd),
        rotated_(std::move(rotated)),
        bytes_(chain.bytes),
        durable_(chain.head),
        next_(chain.head) {}
  ~FileLog() override { close(fd_); }

  absl::Status Append(Json event) override {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::string line = Line(std::move(event));
    if (line.size() > audit::kMaxLine)
      return absl::InvalidArgumentError("too long for the audit log");
    next_ = {next_.lines + 1, HashOf(line)};
    const std::shared_ptr<Batch> mine = waiting_;
    absl::StrAppend(&mine->bytes, line, "\n");
    // One thread writes the lines of all waiting threads.
    while (!mine->ended) {
      if (writing_) {
        changed_.wait(lock);
      } else {
        WriteQueued(&lock);
      }
    }
    return mine->status;
  }

  AuditHead head() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return durable_;
  }

  absl::StatusOr<std::vector<Json>> Read(uint64_t from, uint64_t count) const override {
    std::vector<Json> out;
    uint64_t bytes = 0, last = 0;
    std::string path = path_;
    std::ifstream file;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (from == 0 || from > durable_.lines) return out;
      bytes = bytes_;
      last = count > durable_.lines ? durable_.lines : std::min(durable_.lines, from + count - 1);
      if (const auto in = rotated_.lower_bound(from); in != rotated_.end()) {
        path = in->second;
        last = std::min(last, in->first);
        std::error_code gone;
        bytes = std::filesystem::file_size(path, gone);
        if (gone) return absl::NotFoundError(absl::StrCat(path, ", with that line, was removed"));
      }
      file.open(path, std::ios::binary);  // under the mutex: afterwards it may have another name
    }
    audit::Seek(&file, bytes, from);
    std::string line;
    while (from + out.size() <= last) {
      if (!std::getline(file, line)) return CannotDo("read", path);
      const uint64_t number = NumberOf(line);
      if (number < from) continue;
      if (number != from + out.size()) {
        if (out.empty() && number > from) {
          return absl::NotFoundError(absl::StrCat("the file with line ", from, " was removed"));
        }
        return absl::DataLossError(absl::StrCat(path, " was changed: run `heft audit LOG`"));
      }
      out.push_back(Json::parse(line, nullptr, /*allow_exceptions=*/false));
    }
    return out;
  }

 private:
  // Batch: lines that are written and flushed together, or not at all.
  struct Batch {
    std::string bytes;
    bool ended = false;
    absl::Status status;
    void End(const absl::Status& how) {
      ended = true;
      status = how;
    }
  };

  std::string Line(Json event) const {
    Json line = {{"seq", next_.lines + 1}, {"time", UtcNow()}, {"prev", next_.hash}};
    for (auto& [name, value] : event.items()) {
      if (!line.contains(name)) line[name] = std::move(value);
    }
    return line.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  void WriteQueued(std::unique_lock<std::mutex>* lock) {
    writing_ = true;
    const auto batch = std::exchange(waiting_, std::make_shared<Batch>());
    const AuditHead head = next_;
    absl::Status written = longest_ > 0 && bytes_ >= longest_ ? Rotate() : absl::OkStatus();
    const uint64_t bytes = bytes_;
    lock->unlock();
    if (written.ok()) written = WriteAndSync(batch->bytes, bytes);
    lock->lock();
    writing_ = false;
    batch->End(written);
    if (written.ok()) {
      bytes_ += batch->bytes.size();
      durable_ = head;
    } else {
      // The lines that arrived meanwhile follow failed ones, so they fail too. The next batch is
      // tried again, as the disk may have room by then.
      waiting_->End(written);
      waiting_ = std::make_shared<Batch>();
      next_ = durable_;
    }
    changed_.notify_all();
  }

  // Rotate: renames the file after the number of its last line, and begins a new one. All or
  // nothing: an existing file of that name is kept. Under the mutex, so readers wait.
  absl::Status Rotate() {
    const std::string old = absl::StrCat(path_, ".", durable_.lines);
    if (FileExists(old)) return absl::UnavailableError(old + " already exists: move it away");
    if (uncut_ && ftruncate(fd_, static_cast<off_t>(bytes_)) != 0) return CannotDo("cut", path_);
    if (rename(path_.c_str(), old.c_str()) != 0) return CannotDo("rename", path_);
    const int made = open(path_.c_str(), kFlags | O_EXCL, 0600);
    absl::Status done = made < 0 ? CannotDo("open", path_) : SyncDirectory(FolderOf(path_));
    if (!done.ok()) {
      if (made >= 0) close(made);
      rename(old.c_str(), path_.c_str());
      return done;
    }
    close(std::exchange(fd_, made));
    rotated_[durable_.lines] = old;
    bytes_ = 0;
    uncut_ = false;
    return absl::OkStatus();
  }

  // WriteAndSync: writes after the first `at` bytes, which are durable. Bytes that a failed attempt
  // left behind them are cut off first; if this attempt fails, it cuts off its own.
  absl::Status WriteAndSync(std::string_view bytes, uint64_t at) {
    if (uncut_ && ftruncate(fd_, static_cast<off_t>(at)) != 0) return CannotDo("cut", path_);
    uncut_ = true;
    absl::Status written = WriteAll(bytes);
    if (written.ok() && fdatasync(fd_) != 0) written = CannotDo("flush", path_);
    uncut_ = !written.ok() && ftruncate(fd_, static_cast<off_t>(at)) != 0;
    return written;
  }

  absl::Status WriteAll(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return CannotDo("write", path_);
      bytes.remove_prefix(n);
    }
    return absl::OkStatus();
  }

  const std::string path_;
  const FileLock lock_;
  const uint64_t longest_;
  int fd_;  // of the writing thread
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  RotatedFiles rotated_;
  uint64_t bytes_;            // durable bytes
  AuditHead durable_, next_;  // next: with the waiting lines
  std::shared_ptr<Batch> waiting_ = std::make_shared<Batch>();
  bool writing_ = false;
  bool uncut_ = false;  // only of the writing thread
};

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path, uint64_t checked,
                                                         uint64_t longest) {
  HEFT_ASSIGN_OR_RETURN(
      FileLock lock,
      FileLock::Take(path + ".lock", 0600, path + ": another process writes this audit log"));
  const bool is_new = !FileExists(path);
  RotatedFiles rotated = audit::FindRotated(path);
  const int fd = open(path.c_str(), kFlags, 0600);
  if (fd < 0) return CannotDo("open", path);
  absl::Status good;
  const auto before = audit::HeadBeforeOf(path, rotated);
  auto chain =
      before.ok() ? audit::ReadChain(path, nullptr, {}, *before, checked) : before.status();
  if (!chain.ok()) {
    good = chain.status();
  } else if (chain->torn && ftruncate(fd, static_cast<off_t>(chain->bytes)) != 0) {
    good = CannotDo("cut", path);
  } else if (is_new) {
    good = SyncDirectory(FolderOf(path));
  }
  if (!good.ok()) {
    close(fd);
    return good;
  }
  auto log =
      std::make_unique<FileLog>(path, std::move(lock), fd, *chain, longest, std::move(rotated));
  if (chain->torn) {
    HEFT_RETURN_IF_ERROR(log->Append({{"event", "half line dropped"},
                                      {"bytes", chain->last.size()},
                                      {"hash", HashOf(chain->last)}}));
  }
  return log;
}

absl::StatusOr<AuditHead> VerifyAuditLog(const std::string& path, const AuditHead* expected,
                                         const std::function<void(uint64_t line, const Json&)>& use,
                                         const AuditHead* after) {
  audit::UseLine parsed;
  if (use) {
    parsed = [&](uint64_t number, const std::string& line) {
      use(number, Json::parse(line, nullptr, /*allow_exceptions=*/false));
    };
  }
  HEFT_ASSIGN_OR_RETURN(
      const Chain chain,
      audit::ReadChain(path, expected, parsed,
                       after != nullptr ? *after : AuditHead{0, audit::NoHash()}));
  return chain.head;
}

}  // namespace heft::service
