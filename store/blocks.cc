// SPDX-License-Identifier: Apache-2.0
#include "store/blocks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file_size_signal.h"
#include "base/status.h"
#include "store/store.h"
#include "store/vfs.h"

namespace heft {
namespace {

constexpr std::string_view kBlockMagic = "HEFTBLK1";
// A map covers this much of a growing file, of address space, not of memory; less where the system
// allows less.
constexpr uint64_t kLargestMap = uint64_t{1} << 38;

std::vector<uint8_t> FirstPage(const StoreIdentity& identity) {
  std::vector<uint8_t> page(kBlockPage);
  std::ranges::copy(AsBytes(kBlockMagic), page.begin());
  std::ranges::copy(identity, page.begin() + kBlockMagic.size());
  return page;
}

}  // namespace

static_assert(kRangeHeader == kValueOffset && kBlockPage % kValueAlignment == 0);

FreePages::FreePages(const std::vector<PageRange>& used) {
  for (const PageRange& range : used) {
    if (range.first > end_) Add({end_, range.first - end_});
    end_ = std::max(end_, range.end());
  }
}

void FreePages::Add(PageRange range) {
  by_place_.insert(range);
  by_count_.emplace(range.count, range.first);
  pages_ += range.count;
}

void FreePages::Remove(PageRange range) {
  by_place_.erase(range);
  by_count_.erase({range.count, range.first});
  pages_ -= range.count;
}

uint64_t FreePages::Take(uint64_t count) {
  const auto it = by_count_.lower_bound({count, 0});
  if (it == by_count_.end()) return std::exchange(end_, end_ + count);
  const PageRange range = {it->second, it->first};
  Remove(range);
  if (range.count > count) Add({range.first + count, range.count - count});
  return range.first;
}

void FreePages::Give(PageRange range) {
  auto after = by_place_.lower_bound(range);
  if (after != by_place_.begin()) {
    const PageRange before = *std::prev(after);
    if (before.end() == range.first) {
      Remove(before);
      range = {before.first, before.count + range.count};
    }
  }
  after = by_place_.lower_bound(range);
  if (after != by_place_.end() && after->first == range.end()) {
    const PageRange next = *after;
    Remove(next);
    range.count += next.count;
  }
  if (range.end() == end_) {
    end_ = range.first;
  } else {
    Add(range);
  }
}

absl::Status DamagedStore(const std::string& folder, std::string_view why) {
  return OfStore(
      absl::DataLossError(absl::StrCat("the store in ", folder, " is damaged: ", std::string(why),
                                       ": run `heft-server gallery compact`, which mends what it "
                                       "can, or restore a snapshot of it")));
}

absl::Status UnmendableStore(const std::string& folder, std::string_view why) {
  return OfStore(absl::DataLossError(
      absl::StrCat("the store in ", folder, " is damaged: ", std::string(why),
                   ": restore a snapshot of it (a compaction cannot mend this)")));
}

absl::Status SystemStoreError(std::string_view action, const std::string& folder, int error) {
  std::string_view what = "nothing was changed";
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(absl::StrCat("there is no store in ", folder));
    case ENOSPC:
    case EDQUOT:
      what = "nothing was changed: make room on the disk, then try again";
      break;
    case EFBIG:
      what = "nothing was changed: allow larger files (ulimit -f), then try again";
      break;
    case EIO:
      what =
          "nothing was changed: the disk is full or fails (see the kernel's log), or files may not "
          "be that large (ulimit -f)";
      break;
    case EROFS:
    case EACCES:
    case EPERM:
      what = "allow this user to write there, or open a copy of it";
      break;
    case EMFILE:
    case ENFILE:
      what = "allow more open files (ulimit -n)";
      break;
    case ENOMEM:
      what = "allow more memory or address space (ulimit -v)";
      break;
    default:
      break;
  }
  return absl::UnavailableError(absl::StrCat("cannot ", std::string(action), " the store in ",
                                             folder, ": ", std::strerror(error), ": ",
                                             std::string(what)));
}

absl::StatusOr<std::unique_ptr<BlockFile>> BlockFile::Open(const std::string& path,
                                                           const std::string& folder, bool write,
                                                           const StoreIdentity& identity) {
  const int fd = open(path.c_str(), (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return UnmendableStore(folder, "store.blocks is missing");
  if (fd < 0) return SystemStoreError("open", folder, errno);
  std::unique_ptr<BlockFile> file(new BlockFile(fd, folder));
  std::vector<uint8_t> first(kBlockPage);
  if (pread(fd, first.data(), first.size(), 0) != static_cast<ssize_t>(first.size())) {
    return UnmendableStore(folder, "store.blocks is cut off");
  }
  if (first != FirstPage(identity)) {
    return UnmendableStore(folder, "store.blocks belongs to another store");
  }
  return file;
}

absl::StatusOr<std::unique_ptr<BlockFile>> BlockFile::Create(const std::string& path,
                                                             const std::string& folder,
                                                             const StoreIdentity& identity) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return SystemStoreError("make", folder, errno);
  std::unique_ptr<BlockFile> file(new BlockFile(fd, folder));
  const NoFileSizeSignal no_signal;
  if (!WriteAt(fd, FirstPage(identity), 0)) return file->Failed("make");
  return file;
}

BlockFile::~BlockFile() {
  for (const ByteSpan map : maps_) munmap(const_cast<uint8_t*>(map.data()), map.size());
  close(fd_);
}

absl::Status BlockFile::Failed(std::string_view action) const {
  return SystemStoreError(action, folder_, errno);
}

uint64_t BlockFile::Size() const {
  struct stat info;
  return fstat(fd_, &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

uint64_t BlockFile::Allocated() const {
  struct stat info;
  return fstat(fd_, &info) == 0 ? static_cast<uint64_t>(info.st_blocks) * 512 : 0;
}

// Map: one that has all bytes up to `end`, which the file has.
absl::StatusOr<ByteSpan> BlockFile::Map(uint64_t end) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  known_size_ = Size();
  if (end > known_size_) return DamagedStore(folder_, "a block lies beyond the end of its file");
  if (!maps_.empty() && end <= maps_.back().size()) return maps_.back();
  for (uint64_t size = std::max(kLargestMap, 4 * known_size_);; size /= 2) {
    size = std::max(size, known_size_);
    void* const at = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd_, 0);
    if (at != MAP_FAILED) {
      maps_.emplace_back(static_cast<const uint8_t*>(at), size);
      return maps_.back();
    }
    if (errno != ENOMEM || size == known_size_) return Failed("map");
  }
}

absl::StatusOr<ByteSpan> BlockFile::Value(uint64_t page, uint64_t size) const {
  constexpr uint64_t kMax = uint64_t{1} << 46;
  if (page == 0 || page > kMax / kBlockPage || size > kMax) {
    return DamagedStore(folder_, "a block has a wrong place");
  }
  HEFT_ASSIGN_OR_RETURN(const ByteSpan map, Map((page + BlockPages(size)) * kBlockPage));
  const ByteSpan block = map.subspan(page * kBlockPage, kRangeHeader + size);
  std::array<uint64_t, 2> header;
  std::memcpy(header.data(), block.data(), kRangeHeader);
  if (header[0] != size || header[1] != 0) {
    return DamagedStore(folder_, "a block has a wrong length");
  }
  return block.subspan(kRangeHeader);
}

absl::Status BlockFile::Put(uint64_t page, ByteSpan value) {
  static const std::vector<uint8_t> zeros(kBlockPage);
  std::array<uint64_t, 2> header = {value.size(), 0};
  const uint64_t used = kRangeHeader + value.size(), all = BlockPages(value.size()) * kBlockPage;
  std::array<iovec, 3> parts = {
      {{header.data(), kRangeHeader},
       {const_cast<uint8_t*>(value.data()), value.size()},
       {const_cast<uint8_t*>(zeros.data()), static_cast<size_t>(all - used)}}};
  const auto at = static_cast<off_t>(page * kBlockPage);
  ssize_t n;
  do {
    n = pwritev(fd_, parts.data(), parts.size(), at);
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(all)) {
    constexpr uint64_t kFewBytes = 1 << 18;  // for single changes, not for bulk
    if (all <= kFewBytes) WriteAhead(fd_, page * kBlockPage + all);
    return absl::OkStatus();
  }
  if (n < 0) return Failed("write to");
  // Rarely, a part is written: the rest says why.
  std::vector<uint8_t> bytes(all);
  std::memcpy(bytes.data(), header.data(), kRangeHeader);
  std::ranges::copy(value, bytes.begin() + kRangeHeader);
  return WriteAt(fd_, bytes, page * kBlockPage) ? absl::OkStatus() : Failed("write to");
}

absl::Status BlockFile::Sync() {
  return fdatasync(fd_) == 0 ? absl::OkStatus() : Failed("write to");
}

// DataIn: the parts of a range that the file system keeps data for.
absl::StatusOr<std::vector<std::pair<uint64_t, uint64_t>>> BlockFile::DataIn(uint64_t from,
                                                                             uint64_t to) const {
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  while (from < to) {
    const off_t begin = lseek(fd_, static_cast<off_t>(from), SEEK_DATA);
    if (begin < 0 && errno == ENXIO) break;
    const off_t end = begin < 0 ? begin : lseek(fd_, begin, SEEK_HOLE);
    if (end < 0) return Failed("scrub");
    from = static_cast<uint64_t>(begin);
    const uint64_t until = std::min(to, static_cast<uint64_t>(end));
    if (from >= until) break;
    parts.emplace_back(from, until - from);
    from = until;
  }
  return parts;
}

absl::Status BlockFile::Erase(const std::vector<PageRange>& used, uint64_t most) {
  const NoFileSizeSignal no_signal;
  const uint64_t size = Size();
  std::vector<std::pair<uint64_t, uint64_t>> parts;  // begin, length
  uint64_t from = kBlockPage, sum = 0;
  const auto add = [&](uint64_t to) -> absl::Status {
    to = std::min(to, size);
    if (from < to && sum < most) {
      HEFT_ASSIGN_OR_RETURN(const auto data, DataIn(from, to));
      for (const auto& part : data) {
        parts.push_back({part.first, std::min(part.second, most - sum)});
        sum += parts.back().second;
        if (sum >= most) break;
      }
    }
    return absl::OkStatus();
  };
  for (const PageRange& range : used) {
    HEFT_RETURN_IF_ERROR(add(range.first * kBlockPage));
    from = range.end() * kBlockPage;
  }
  HEFT_RETURN_IF_ERROR(add(size));
  for (const auto& [at, length] : parts) {
    if (!WriteZeros(fd_, at, length)) return Failed("scrub");
  }
  if (!parts.empty() && fdatasync(fd_) != 0) return Failed("scrub");
  for (const auto& [at, length] : parts) {
    // A file system without holes keeps the zeros, and the next scrub writes them again.
    if (fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                  static_cast<off_t>(length)) != 0 &&
        errno != EOPNOTSUPP && errno != ENOSYS) {
      return Failed("scrub");
    }
  }
  if (sum < most && from < size) {
    if (ftruncate(fd_, static_cast<off_t>(from)) != 0) return Failed("scrub");
    const std::lock_guard<std::mutex> lock(mutex_);
    known_size_ = std::min(known_size_, from);
  }
  // Also where there was nothing to do: an earlier sync may have failed.
  return fsync(fd_) == 0 ? absl::OkStatus() : Failed("scrub");
}

}  // namespace heft
