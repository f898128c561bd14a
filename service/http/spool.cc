// SPDX-License-Identifier: Apache-2.0
#include "service/http/spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace heft::service {
namespace {

absl::Status Refused(std::string_view what, const std::string& folder) {
  return absl::UnavailableError(absl::StrCat("cannot ", std::string(what), " a body in ", folder,
                                             ": ", std::strerror(errno)));
}

// MemoryBody, FileBody: release their share of the budget when destroyed.
class MemoryBody : public Body {
 public:
  MemoryBody(std::vector<uint8_t> bytes, std::shared_ptr<SpoolBudget> budget)
      : bytes_(std::move(bytes)), budget_(std::move(budget)) {}
  ~MemoryBody() override { budget_->memory -= bytes_.size(); }
  std::span<const uint8_t> bytes() const override { return bytes_; }

 private:
  const std::vector<uint8_t> bytes_;
  const std::shared_ptr<SpoolBudget> budget_;
};

class FileBody : public Body {
 public:
  FileBody(void* map, uint64_t size, std::shared_ptr<SpoolBudget> budget)
      : map_(map), size_(size), budget_(std::move(budget)) {}
  ~FileBody() override {
    munmap(map_, size_);
    budget_->spooled -= size_;
  }
  std::span<const uint8_t> bytes() const override {
    return {static_cast<const uint8_t*>(map_), size_};
  }

 private:
  void* const map_;
  const uint64_t size_;
  const std::shared_ptr<SpoolBudget> budget_;
};

// TemporaryFile: a file without a name, which disappears when its descriptor is closed.
int TemporaryFile(const std::string& folder) {
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  std::string path = folder + "/heft-body-XXXXXX";
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return named;
}

}  // namespace

BodyWriter::~BodyWriter() {
  budget_->memory -= memory_.size();
  budget_->spooled -= spooled_;
  if (fd_ >= 0) close(fd_);
}

absl::Status BodyWriter::Write(std::span<const uint8_t> bytes) {
  if (fd_ >= 0) return Append(bytes);
  const bool fits = memory_.size() + bytes.size() <= budget_->memory_body &&
                    budget_->memory + bytes.size() <= budget_->most_memory;
  if (fits) {
    budget_->memory += bytes.size();
    memory_.insert(memory_.end(), bytes.begin(), bytes.end());
    return absl::OkStatus();
  }
  const absl::Status moved = ToFile();
  return moved.ok() ? Append(bytes) : moved;
}

absl::Status BodyWriter::ToFile() {
  fd_ = TemporaryFile(budget_->folder);
  if (fd_ < 0) return Refused("begin", budget_->folder);
  const absl::Status written = Append(memory_);
  budget_->memory -= memory_.size();
  memory_ = {};
  return written;
}

absl::Status BodyWriter::Append(std::span<const uint8_t> bytes) {
  if (budget_->spooled.fetch_add(bytes.size()) + bytes.size() > budget_->most_spooled) {
    budget_->spooled -= bytes.size();
    return absl::ResourceExhaustedError("too many large bodies at once: try again later");
  }
  spooled_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t n = write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Refused("write", budget_->folder);
    bytes = bytes.subspan(n);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Body>> BodyWriter::Finish() {
  if (fd_ < 0) return std::make_shared<MemoryBody>(std::exchange(memory_, {}), budget_);
  if (spooled_ == 0) return BodyOf({});
  void* map = mmap(nullptr, spooled_, PROT_READ, MAP_PRIVATE, fd_, 0);
  if (map == MAP_FAILED) return Refused("map", budget_->folder);
  return std::make_shared<FileBody>(map, std::exchange(spooled_, 0), budget_);
}

}  // namespace heft::service
