// SPDX-License-Identifier: Apache-2.0
#include "service/run/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/status.h"

namespace heft::service {
namespace {

constexpr size_t kMostLine = 64 << 10;

std::string NoHash() { return std::string(2 * sizeof(Hash), '0'); }

std::string HashOf(std::string_view line) { return HexString(HashBytes(AsBytes(line))); }

absl::Status Refused(std::string_view what, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", std::string(what), " ", path, ": ", std::strerror(errno)));
}

std::string Now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm broken{};
  gmtime_r(&seconds, &broken);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &broken);
  return absl::StrFormat("%s.%03dZ", text, static_cast<int>(milliseconds % 1000));
}

// Chain: the lines of a file as far as they hold together.
struct Chain {
  AuditHead head;
  uint64_t bytes = 0;  // of whole lines
  bool torn = false;   // more comes after them, without a line's end
  std::string last;    // the torn line
};

// CheckLine: that it is the next of the chain; OK or what is wrong with it.
absl::Status CheckLine(const std::string& line, const AuditHead& head, nlohmann::json* event) {
  *event = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!event->is_object()) return absl::DataLossError("is no JSON object");
  const auto number = event->find("seq"), before = event->find("prev");
  if (number == event->end() || !number->is_number_unsigned() ||
      number->get<uint64_t>() != head.lines + 1) {
    return absl::DataLossError(
        absl::StrCat("is not number ", head.lines + 1, ": lines were left out, moved or added"));
  }
  if (before == event->end() || !before->is_string() || before->get<std::string>() != head.hash) {
    return absl::DataLossError("does not follow from the line before it: one of them was changed");
  }
  return absl::OkStatus();
}

uint64_t NumberOf(const std::string& line) {
  const auto event = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto number = event.is_object() ? event.find("seq") : event.end();
  return number != event.end() && number->is_number_unsigned() ? number->get<uint64_t>() : 0;
}

// Begin: the chain up to a line that is about `last` bytes before the end of the file, which is
// believed; from the file's beginning where there is no more than that. `file` is at the next line.
absl::StatusOr<Chain> Begin(std::ifstream* file, const std::string& path, uint64_t last) {
  Chain chain;
  chain.head.hash = NoHash();
  file->seekg(0, std::ios::end);
  const auto size = static_cast<uint64_t>(file->tellg());
  if (size <= last) {
    file->seekg(0);
    return chain;
  }
  file->seekg(static_cast<std::streamoff>(size - last));
  std::string line;
  std::getline(*file, line);  // the rest of one
  if (!std::getline(*file, line) || file->eof()) {
    return absl::DataLossError(absl::StrCat(path, " ends in a line longer than any is"));
  }
  chain.head = {NumberOf(line), HashOf(line)};
  chain.bytes = static_cast<uint64_t>(file->tellg());
  if (chain.head.lines == 0) {
    return absl::DataLossError(absl::StrCat(
        path, ", ", chain.bytes, " bytes from its beginning: ", "a line without a number"));
  }
  return chain;
}

absl::StatusOr<Chain> ReadChain(
    const std::string& path, const AuditHead* expected,
    const std::function<void(uint64_t line, const nlohmann::json&)>& use,
    uint64_t last = UINT64_MAX) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return FileExists(path) ? Refused("read", path) : absl::NotFoundError(path + " is not there");
  }
  HEFT_ASSIGN_OR_RETURN(Chain chain, Begin(&file, path, last));
  const bool any = expected == nullptr || expected->lines == 0;
  bool met = any;
  std::string line;
  while (std::getline(file, line)) {
    if (file.eof()) {  // no line's end
      chain.torn = true;
      chain.last = line;
      break;
    }
    nlohmann::json event;
    const absl::Status good = line.size() > kMostLine
                                  ? absl::DataLossError("is longer than any that is written")
                                  : CheckLine(line, chain.head, &event);
    if (!good.ok()) {
      return absl::DataLossError(
          absl::StrCat(path, ":", chain.head.lines + 1, " ", std::string(good.message())));
    }
    chain.head = {chain.head.lines + 1, HashOf(line)};
    chain.bytes += line.size() + 1;
    if (!any && chain.head.lines == expected->lines) {
      if (chain.head.hash != expected->hash) {
        return absl::DataLossError(absl::StrCat(
            path, ":", expected->lines, " is not the line that was noted: all up to it may have ",
            "been written anew"));
      }
      met = true;
    }
    if (use) use(chain.head.lines, event);
  }
  if (!met) {
    return absl::DataLossError(absl::StrCat(path, " ends after line ", chain.head.lines,
                                            ", and line ", expected->lines,
                                            " was noted: its end was cut off"));
  }
  return chain;
}

// Seek: to a line at most two of the longest before number `from`; lines are numbered in order.
void Seek(std::ifstream* file, uint64_t bytes, uint64_t from) {
  uint64_t low = 0, high = bytes;  // a line begins at low, whose number is at most `from`
  std::string line;
  while (high - low > 2 * kMostLine) {
    const uint64_t middle = low + (high - low) / 2;
    file->seekg(static_cast<std::streamoff>(middle));
    std::getline(*file, line);  // the rest of one
    const auto place = static_cast<uint64_t>(file->tellg());
    const bool before = std::getline(*file, line) && place < high && NumberOf(line) <= from;
    file->clear();
    (before ? low : high) = before ? place : middle;
  }
  file->seekg(static_cast<std::streamoff>(low));
}

class FileLog : public AuditLog {
 public:
  FileLog(std::string path, FileLock lock, int fd, Chain chain)
      : path_(std::move(path)),
        lock_(std::move(lock)),
        fd_(fd),
        bytes_(chain.bytes),
        durable_(chain.head),
        next_(chain.head) {}
  ~FileLog() override { close(fd_); }

  absl::Status Append(nlohmann::ordered_json event) override {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::string line = Line(std::move(event));
    if (line.size() > kMostLine) return absl::InvalidArgumentError("too long for the audit log");
    next_ = {next_.lines + 1, HashOf(line)};
    const std::shared_ptr<Batch> mine = waiting_;
    absl::StrAppend(&mine->bytes, line, "\n");
    // One writes for all that wait by then.
    while (!mine->ended) {
      if (writing_) {
        changed_.wait(lock);
      } else {
        WriteWaiting(&lock);
      }
    }
    return mine->status;
  }

  AuditHead head() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return durable_;
  }

  absl::StatusOr<std::vector<nlohmann::ordered_json>> Read(uint64_t from,
                                                           uint64_t count) const override {
    std::vector<nlohmann::ordered_json> out;
    uint64_t bytes = 0, last = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (from == 0 || from > durable_.lines) return out;
      bytes = bytes_;
      last = count > durable_.lines ? durable_.lines : std::min(durable_.lines, from + count - 1);
    }
    std::ifstream file(path_, std::ios::binary);
    Seek(&file, bytes, from);
    std::string line;
    while (from + out.size() <= last) {
      if (!std::getline(file, line)) return Refused("read", path_);
      const uint64_t number = NumberOf(line);
      if (number < from) continue;
      if (number != from + out.size()) {
        return absl::DataLossError(absl::StrCat(path_, " was changed: `heft audit-log verify`"));
      }
      out.push_back(nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false));
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

  std::string Line(nlohmann::ordered_json event) const {
    nlohmann::ordered_json line = {{"seq", next_.lines + 1}, {"time", Now()}, {"prev", next_.hash}};
    for (auto& [name, value] : event.items()) {
      if (!line.contains(name)) line[name] = std::move(value);
    }
    return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  void WriteWaiting(std::unique_lock<std::mutex>* lock) {
    writing_ = true;
    const auto batch = std::exchange(waiting_, std::make_shared<Batch>());
    const AuditHead head = next_;
    const uint64_t bytes = bytes_;
    lock->unlock();
    const absl::Status written = WriteAndSync(batch->bytes, bytes);
    lock->lock();
    writing_ = false;
    batch->End(written);
    if (written.ok()) {
      bytes_ += batch->bytes.size();
      durable_ = head;
    } else {
      // What came meanwhile follows lines that are none. The next is tried anew: there may be room.
      waiting_->End(written);
      waiting_ = std::make_shared<Batch>();
      next_ = durable_;
    }
    changed_.notify_all();
  }

  // WriteAndSync: after the first `at` bytes, which are durable. What an attempt that failed has
  // left behind them is cut off first, and again at the end of this one if it fails.
  absl::Status WriteAndSync(std::string_view bytes, uint64_t at) {
    if (uncut_ && ftruncate(fd_, static_cast<off_t>(at)) != 0) return Refused("cut", path_);
    uncut_ = true;
    absl::Status written = WriteAll(bytes);
    if (written.ok() && fdatasync(fd_) != 0) written = Refused("flush", path_);
    uncut_ = !written.ok() && ftruncate(fd_, static_cast<off_t>(at)) != 0;
    return written;
  }

  absl::Status WriteAll(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return Refused("write", path_);
      bytes.remove_prefix(n);
    }
    return absl::OkStatus();
  }

  const std::string path_;
  const FileLock lock_;
  const int fd_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t bytes_;            // of what is durable
  AuditHead durable_, next_;  // next: with what waits
  std::shared_ptr<Batch> waiting_ = std::make_shared<Batch>();
  bool writing_ = false;
  bool uncut_ = false;  // who writes alone looks at it
};

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path,
                                                         uint64_t checked) {
  HEFT_ASSIGN_OR_RETURN(
      FileLock lock,
      FileLock::Take(path + ".lock", 0600, path + ": another process writes this audit log"));
  const bool is_new = !FileExists(path);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Refused("open", path);
  absl::Status good;
  auto chain = ReadChain(path, nullptr, {}, checked);
  if (!chain.ok()) {
    good = chain.status();
  } else if (chain->torn && ftruncate(fd, static_cast<off_t>(chain->bytes)) != 0) {
    good = Refused("cut", path);
  } else if (is_new) {
    const size_t slash = path.rfind('/');
    good = SyncDirectory(slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash));
  }
  if (!good.ok()) {
    close(fd);
    return good;
  }
  auto log = std::make_unique<FileLog>(path, std::move(lock), fd, *chain);
  if (chain->torn) {
    HEFT_RETURN_IF_ERROR(log->Append({{"event", "half line dropped"},
                                      {"bytes", chain->last.size()},
                                      {"hash", HashOf(chain->last)}}));
  }
  return log;
}

absl::StatusOr<AuditHead> VerifyAuditLog(
    const std::string& path, const AuditHead* expected,
    const std::function<void(uint64_t line, const nlohmann::json&)>& use) {
  HEFT_ASSIGN_OR_RETURN(const Chain chain, ReadChain(path, expected, use));
  // A service that runs may be writing: half a line is not yet one.
  return chain.head;
}

}  // namespace heft::service
