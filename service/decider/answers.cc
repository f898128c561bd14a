// SPDX-License-Identifier: Apache-2.0
// The file: records of key (32 bytes), time (8), size (4), answer, and the first 8 bytes of the
// hash of these; little-endian. The highest bit of the size marks a decision that is not yet an
// answer. The last record of a key counts.
#include "service/decider/answers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

constexpr size_t kHead = 32 + 8 + 4, kTail = 8;
constexpr uint32_t kUnfinished = uint32_t{1} << 31;

absl::Status Failed(const std::string& folder, const char* what) {
  return absl::UnavailableError(absl::StrCat(folder, ": ", what, ": ", std::strerror(errno)));
}

template <typename T>
void Put(std::vector<uint8_t>* out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out->push_back(static_cast<uint8_t>(value >> (8 * i)));
}
template <typename T>
T Get(const uint8_t* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(bytes[i]) << (8 * i);
  return value;
}

std::vector<uint8_t> AnswerRecord(const Digest& key, uint64_t time, const std::string& text,
                                  bool finished) {
  std::vector<uint8_t> out(key.begin(), key.end());
  Put<uint64_t>(&out, time);
  Put<uint32_t>(&out, static_cast<uint32_t>(text.size()) | (finished ? 0 : kUnfinished));
  out.insert(out.end(), text.begin(), text.end());
  const Hash hash = HashBytes(out);
  out.insert(out.end(), hash.begin(), hash.begin() + kTail);
  return out;
}

Digest KeyOf(const Digest& reply, const std::string& asker) {
  std::vector<uint8_t> bytes(reply.begin(), reply.end());
  bytes.insert(bytes.end(), asker.begin(), asker.end());
  return HashBytes(bytes);
}

bool ReadAt(int descriptor, uint64_t offset, std::span<uint8_t> out) {
  while (!out.empty()) {
    const ssize_t got = pread(descriptor, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += static_cast<uint64_t>(got);
    out = out.subspan(static_cast<size_t>(got));
  }
  return true;
}

}  // namespace

AnswerLog::~AnswerLog() {
  for (const File& file : files_) {
    if (file.descriptor >= 0) close(file.descriptor);
  }
}

absl::StatusOr<std::unique_ptr<AnswerLog>> AnswerLog::Open(const std::string& folder) {
  std::unique_ptr<AnswerLog> log(new AnswerLog);
  log->folder_ = folder;
  for (int i = 0; i < 2; ++i) {
    const std::string path = absl::StrCat(folder, "/answers.", i);
    log->files_[i].descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log->files_[i].descriptor < 0) return Failed(path, "cannot be opened");
    HEFT_RETURN_IF_ERROR(log->Load(i));
  }
  log->current_ = log->files_[1].began > log->files_[0].began ? 1 : 0;
  return log;
}

absl::Status AnswerLog::Load(int index) {
  File& file = files_[index];
  std::vector<uint8_t> head(kHead), record;
  while (ReadAt(file.descriptor, file.size, head)) {
    const auto time = Get<uint64_t>(head.data() + 32);
    const auto field = Get<uint32_t>(head.data() + 40);
    const uint32_t size = field & ~kUnfinished;
    if (size > kLongestAnswer) break;
    record.resize(kHead + size + kTail);
    if (!ReadAt(file.descriptor, file.size, record)) break;
    const Hash hash = HashBytes(std::span(record).first(kHead + size));
    if (!std::equal(record.end() - kTail, record.end(), hash.begin())) break;
    Key key;
    std::copy_n(head.begin(), key.size(), key.begin());
    places_[key] = {index, file.size + kHead, size, time, size == field};
    if (file.entries++ == 0) file.began = time;
    file.size += record.size();
  }
  if (ftruncate(file.descriptor, static_cast<off_t>(file.size)) == 0) return absl::OkStatus();
  return Failed(folder_, "its torn end cannot be cut off");
}

// Begin: empties the file; new records go to it.
absl::Status AnswerLog::Begin(int index, uint64_t now) {
  if (ftruncate(files_[index].descriptor, 0) != 0) return Failed(folder_, "cannot be emptied");
  std::erase_if(places_, [&](const auto& place) { return place.second.file == index; });
  files_[index].size = 0;
  files_[index].entries = 0;
  files_[index].began = now;
  current_ = index;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<AnswerLog::Kept>> AnswerLog::Find(const Key& key, uint64_t now) const {
  const auto it = places_.find(key);
  if (it == places_.end() || it->second.time + kAnswerLife < now) return std::nullopt;
  Kept kept{std::string(it->second.size, '\0'), it->second.finished};
  const std::span<uint8_t> out(reinterpret_cast<uint8_t*>(kept.text.data()), kept.text.size());
  if (ReadAt(files_[it->second.file].descriptor, it->second.offset, out)) return kept;
  return Failed(folder_, "an answer cannot be read");
}

absl::Status AnswerLog::Remember(const Key& key, const Kept& kept, uint64_t now) {
  const std::string& text = kept.text;
  if (text.size() > kLongestAnswer)
    return absl::InternalError("an answer is too long to be stored");
  const File& old = files_[current_];
  if (old.entries >= kAnswerRecords * kMaxAnswers ||
      (old.entries > 0 && old.began + kAnswerLife < now)) {
    HEFT_RETURN_IF_ERROR(Begin(1 - current_, now));
  }
  File& file = files_[current_];
  const std::vector<uint8_t> record = AnswerRecord(key, now, text, kept.finished);
  const ssize_t written =
      pwrite(file.descriptor, record.data(), record.size(), static_cast<off_t>(file.size));
  if (written != static_cast<ssize_t>(record.size())) return Failed(folder_, "cannot be written");
  places_[key] = {current_, file.size + kHead, static_cast<uint32_t>(text.size()), now,
                  kept.finished};
  if (file.entries++ == 0) file.began = now;
  file.size += record.size();
  return absl::OkStatus();
}

void AnswerLog::TryToRemember(const Key& key, const Kept& kept, uint64_t now) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (const absl::Status done = Remember(key, kept, now); !done.ok()) {
    LogLine(LogLevel::kWarning, "an answer could not be stored", {{"error", done.message()}});
  }
}

absl::StatusOr<std::string> AnswerLog::Once(const Digest& reply, const std::string& asker,
                                            uint64_t now, const Deciding& decide,
                                            const Finishing& finish) {
  const Key key = KeyOf(reply, asker);
  std::optional<Kept> found;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return !asking_.contains(key); });
    HEFT_ASSIGN_OR_RETURN(found, Find(key, now));
    if (found && found->finished) return std::move(found->text);
    asking_.insert(key);
  }
  const absl::Cleanup release = [&] {  // also after an exception, as nobody else could ask then
    const std::lock_guard<std::mutex> guard(mutex_);
    asking_.erase(key);
    done_.notify_all();
  };
  absl::StatusOr<std::string> answer = found ? std::move(found->text) : decide();
  if (answer.ok()) {
    if (!found) TryToRemember(key, {*answer, /*finished=*/false}, now);
    answer = finish(*answer);
  }
  if (answer.ok()) TryToRemember(key, {*answer, /*finished=*/true}, now);
  return answer;
}

size_t AnswerLog::size() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return places_.size();
}

}  // namespace heft::service
