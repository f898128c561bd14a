// SPDX-License-Identifier: Apache-2.0
#include "service/run/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/status.h"
#include "service/run/utc_time.h"

namespace heft::service {
namespace {

constexpr size_t kMostLine = 64 << 10;
constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string NoHash() { return std::string(2 * sizeof(Hash), '0'); }

std::string HashOf(std::string_view line) { return HexString(HashBytes(AsBytes(line))); }

absl::Status Refused(std::string_view what, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", std::string(what), " ", path, ": ", std::strerror(errno)));
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
// believed; from the file's beginning, which follows `after`, where there is no more than that.
// `file` is at the next line.
absl::StatusOr<Chain> Begin(std::ifstream* file, const std::string& path, uint64_t last,
                            const AuditHead& after) {
  Chain chain;
  chain.head = after;
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
    const std::function<void(uint64_t line, const nlohmann::json&)>& use, const AuditHead& after,
    uint64_t last = UINT64_MAX) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return FileExists(path) ? Refused("read", path) : absl::NotFoundError(path + " is not there");
  }
  HEFT_ASSIGN_OR_RETURN(Chain chain, Begin(&file, path, last, after));
  const bool any = expected == nullptr || expected->lines <= after.lines;
  if (expected != nullptr && expected->lines > 0 && expected->lines == after.lines &&
      expected->hash != after.hash) {
    return absl::DataLossError(absl::StrCat(path, " does not follow line ", after.lines,
                                            " as it was noted: all up to it may have ",
                                            "been written anew"));
  }
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

// Aside: files that were put aside, by the numbers of their last lines.
using Aside = std::map<uint64_t, std::string>;

Aside FindAside(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string prefix = whole.filename().string() + ".";
  Aside out;
  std::error_code ignored;
  const auto folder = whole.has_parent_path() ? whole.parent_path() : std::filesystem::path(".");
  for (const auto& file : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = file.path().filename().string();
    uint64_t last = 0;
    if (name.starts_with(prefix) && absl::SimpleAtoi(name.substr(prefix.size()), &last)) {
      out[last] = file.path().string();
    }
  }
  return out;
}

// FirstFollows: the head that a file's first line says it follows; nothing has checked it.
AuditHead FirstFollows(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  AuditHead head = {0, NoHash()};
  if (!std::getline(file, line) || file.eof()) return head;
  const auto event = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  const uint64_t number = NumberOf(line);
  if (number > 1 && event.contains("prev") && event["prev"].is_string()) {
    head = {number - 1, event["prev"].get<std::string>()};
  }
  return head;
}

// HeadBefore: what the first line of a file is to follow: the end of the youngest file that was put
// aside.
absl::StatusOr<AuditHead> HeadBefore(const Aside& aside) {
  if (aside.empty()) return AuditHead{0, NoHash()};
  const auto& [last, old] = *aside.rbegin();
  HEFT_ASSIGN_OR_RETURN(const Chain chain,
                        ReadChain(old, nullptr, {}, FirstFollows(old), 4 * kMostLine));
  if (chain.head.lines == last && !chain.torn) return chain.head;
  return absl::DataLossError(
      absl::StrCat(old, " does not end with line ", last, ": `heft audit-log verify`"));
}

// HeadBeforeOf: the same of the file at `path`, with what to do where it is not there.
absl::StatusOr<AuditHead> HeadBeforeOf(const std::string& path, const Aside& aside) {
  const AuditHead follows = FirstFollows(path);
  if (follows.lines > 0 && !aside.contains(follows.lines)) {
    return absl::DataLossError(
        absl::StrCat(path, " begins after line ", follows.lines,
                     ", and the file that ends there is gone: put ", path, ".", follows.lines,
                     " back beside it (the youngest of those put aside must stay, as it is), or ",
                     "move ", path, " away as well, which begins a new chain"));
  }
  return HeadBefore(aside);
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
  FileLog(std::string path, FileLock lock, int fd, Chain chain, uint64_t longest, Aside aside)
      : path_(std::move(path)),
        lock_(std::move(lock)),
        longest_(longest),
        fd_(fd),
        aside_(std::move(aside)),
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
    std::string path = path_;
    std::ifstream file;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (from == 0 || from > durable_.lines) return out;
      bytes = bytes_;
      last = count > durable_.lines ? durable_.lines : std::min(durable_.lines, from + count - 1);
      if (const auto in = aside_.lower_bound(from); in != aside_.end()) {
        path = in->second;
        last = std::min(last, in->first);
        std::error_code gone;
        bytes = std::filesystem::file_size(path, gone);
        if (gone)
          return absl::NotFoundError(absl::StrCat(path, ", with that line, was taken away"));
      }
      file.open(path, std::ios::binary);  // under the mutex: afterwards it may have another name
    }
    Seek(&file, bytes, from);
    std::string line;
    while (from + out.size() <= last) {
      if (!std::getline(file, line)) return Refused("read", path);
      const uint64_t number = NumberOf(line);
      if (number < from) continue;
      if (number != from + out.size()) {
        if (out.empty() && number > from) {
          return absl::NotFoundError(absl::StrCat("the file with line ", from, " was taken away"));
        }
        return absl::DataLossError(absl::StrCat(path, " was changed: `heft audit-log verify`"));
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
    nlohmann::ordered_json line = {
        {"seq", next_.lines + 1}, {"time", UtcNow()}, {"prev", next_.hash}};
    for (auto& [name, value] : event.items()) {
      if (!line.contains(name)) line[name] = std::move(value);
    }
    return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  void WriteWaiting(std::unique_lock<std::mutex>* lock) {
    writing_ = true;
    const auto batch = std::exchange(waiting_, std::make_shared<Batch>());
    const AuditHead head = next_;
    absl::Status written = longest_ > 0 && bytes_ >= longest_ ? PutAside() : absl::OkStatus();
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
      // What came meanwhile follows lines that are none. The next is tried anew: there may be room.
      waiting_->End(written);
      waiting_ = std::make_shared<Batch>();
      next_ = durable_;
    }
    changed_.notify_all();
  }

  // PutAside: the file, under the number of its last line; a new one takes its place. All or
  // nothing: a name that is there already is another's. Under the mutex: those who read wait.
  absl::Status PutAside() {
    const std::string old = absl::StrCat(path_, ".", durable_.lines);
    if (FileExists(old)) return absl::UnavailableError(old + " is there already: take it away");
    if (uncut_ && ftruncate(fd_, static_cast<off_t>(bytes_)) != 0) return Refused("cut", path_);
    if (rename(path_.c_str(), old.c_str()) != 0) return Refused("rename", path_);
    const int made = open(path_.c_str(), kFlags | O_EXCL, 0600);
    absl::Status done = made < 0 ? Refused("open", path_) : SyncDirectory(FolderOf(path_));
    if (!done.ok()) {
      if (made >= 0) close(made);
      rename(old.c_str(), path_.c_str());
      return done;
    }
    close(std::exchange(fd_, made));
    aside_[durable_.lines] = old;
    bytes_ = 0;
    uncut_ = false;
    return absl::OkStatus();
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
  const uint64_t longest_;
  int fd_;  // of who writes
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Aside aside_;
  uint64_t bytes_;            // of what is durable
  AuditHead durable_, next_;  // next: with what waits
  std::shared_ptr<Batch> waiting_ = std::make_shared<Batch>();
  bool writing_ = false;
  bool uncut_ = false;  // who writes alone looks at it
};

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path, uint64_t checked,
                                                         uint64_t longest) {
  HEFT_ASSIGN_OR_RETURN(
      FileLock lock,
      FileLock::Take(path + ".lock", 0600, path + ": another process writes this audit log"));
  const bool is_new = !FileExists(path);
  Aside aside = FindAside(path);
  const int fd = open(path.c_str(), kFlags, 0600);
  if (fd < 0) return Refused("open", path);
  absl::Status good;
  const auto before = HeadBeforeOf(path, aside);
  auto chain = before.ok() ? ReadChain(path, nullptr, {}, *before, checked) : before.status();
  if (!chain.ok()) {
    good = chain.status();
  } else if (chain->torn && ftruncate(fd, static_cast<off_t>(chain->bytes)) != 0) {
    good = Refused("cut", path);
  } else if (is_new) {
    good = SyncDirectory(FolderOf(path));
  }
  if (!good.ok()) {
    close(fd);
    return good;
  }
  auto log =
      std::make_unique<FileLog>(path, std::move(lock), fd, *chain, longest, std::move(aside));
  if (chain->torn) {
    HEFT_RETURN_IF_ERROR(log->Append({{"event", "half line dropped"},
                                      {"bytes", chain->last.size()},
                                      {"hash", HashOf(chain->last)}}));
  }
  return log;
}

absl::StatusOr<AuditHead> VerifyAuditLog(
    const std::string& path, const AuditHead* expected,
    const std::function<void(uint64_t line, const nlohmann::json&)>& use, const AuditHead* after) {
  HEFT_ASSIGN_OR_RETURN(
      const Chain chain,
      ReadChain(path, expected, use, after != nullptr ? *after : AuditHead{0, NoHash()}));
  // A service that runs may be writing: half a line is not yet one.
  return chain.head;
}

absl::StatusOr<AuditHead> VerifyAuditLogs(const std::vector<std::string>& paths,
                                          const AuditHead* expected, const AuditHead* after) {
  AuditHead head = after != nullptr ? *after : AuditHead{0, NoHash()};
  if (expected != nullptr && expected->lines < head.lines) {
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", expected->lines, " was noted, and is in a file that is not given: what is given ",
        "follows line ", head.lines, ". Give that file too, or a head that is not older"));
  }
  if (expected != nullptr && expected->lines == 0 && expected->hash != NoHash()) {
    return absl::InvalidArgumentError("no line has number 0: give a head as it was noted");
  }
  for (const std::string& path : paths) {
    // What was noted is looked for in the file that has reached its number, or the last one.
    HEFT_ASSIGN_OR_RETURN(const AuditHead end, VerifyAuditLog(path, nullptr, {}, &head));
    const bool here = expected != nullptr && expected->lines >= head.lines &&
                      (expected->lines <= end.lines || path == paths.back());
    if (here) HEFT_RETURN_IF_ERROR(VerifyAuditLog(path, expected, {}, &head).status());
    head = end;
  }
  return head;
}

}  // namespace heft::service
