// SPDX-License-Identifier: Apache-2.0
#include "postgres/blob_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/checksum.h"
#include "base/file_size_signal.h"
#include "base/files.h"
#include "base/files_internal.h"
#include "base/mapped_file.h"
#include "base/used_files.h"
#include "store/store.h"

namespace heft {
namespace {

constexpr std::string_view kMagic = "HEFTBLB1";
constexpr size_t kHeader = 80;
static_assert(kHeader % kValueAlignment == kValueOffset);
// A file is touched if that was not done for kTouch. A killed process's leftover is removed after
// kLeftover.
constexpr absl::Duration kTouch = absl::Minutes(1), kLeftover = absl::Minutes(10);
// kMaxMapped: maps of a process; the system allows 65530 in total.
constexpr size_t kMaxMapped = 30'000;
constexpr std::string_view kTemporary = ".part";

std::array<uint8_t, kHeader> Header(const Hash& hash, ByteSpan bytes) {
  ByteWriter writer;
  writer.Raw(AsBytes(kMagic));
  writer.U64(bytes.size());
  writer.Raw(hash);
  writer.U64(FastChecksum(bytes));
  writer.U64(FastChecksum(writer.bytes()));
  std::array<uint8_t, kHeader> header{};
  std::ranges::copy(writer.bytes(), header.begin());
  return header;
}

bool WriteAll(int fd, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

// HashOf: the hash in a file's name; nothing for another name.
std::optional<Hash> HashOf(std::string_view name) {
  Hash hash;
  std::string raw;
  if (name.size() != 2 * hash.size() || name.find_first_not_of("0123456789abcdef") != name.npos) {
    return std::nullopt;
  }
  raw = absl::HexStringToBytes(std::string(name));
  std::ranges::copy(AsBytes(raw), hash.begin());
  return hash;
}

struct File {
  std::string name;
  uint64_t size;
  absl::Time touched;
};

// FilesIn: the cache's files. Removes leftovers of killed processes.
std::vector<File> FilesIn(const std::string& folder) {
  std::vector<File> files;
  DIR* const directory = opendir(folder.c_str());
  if (directory == nullptr) return files;
  while (const dirent* const entry = readdir(directory)) {
    const std::string name = entry->d_name;
    struct stat info;
    if (fstatat(dirfd(directory), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode)) {
      continue;
    }
    const absl::Time touched = absl::TimeFromTimespec(info.st_mtim);
    if (HashOf(name)) {
      files.push_back({name, static_cast<uint64_t>(info.st_size), touched});
    } else if (name.find(kTemporary) != name.npos && absl::Now() - touched > kLeftover) {
      unlinkat(dirfd(directory), name.c_str(), 0);
    }
  }
  closedir(directory);
  return files;
}

// Overwrite: overwrites a file that has no name any more.
absl::Status Overwrite(int fd, uint64_t size, const std::string& path) {
  const std::vector<uint8_t> zeros(std::min<uint64_t>(size, 1 << 20));
  for (uint64_t done = 0; done < size;) {
    const ByteSpan piece = ByteSpan(zeros).first(std::min<uint64_t>(zeros.size(), size - done));
    if (!WriteAll(fd, piece)) return internal::SystemError("cannot overwrite", path, errno);
    done += piece.size();
  }
  if (fdatasync(fd) != 0) return internal::SystemError("cannot overwrite", path, errno);
  return absl::OkStatus();
}

}  // namespace

std::shared_ptr<const Blob> Blob::Copied(ByteSpan bytes) {
  const auto room = std::make_shared<std::vector<uint8_t>>(bytes.size() + kValueAlignment);
  const size_t from = reinterpret_cast<uintptr_t>(room->data()) % kValueAlignment;
  const size_t at = (kValueAlignment + kValueOffset - from) % kValueAlignment;
  std::ranges::copy(bytes, room->begin() + static_cast<std::ptrdiff_t>(at));
  return std::make_shared<Blob>(ByteSpan(*room).subspan(at, bytes.size()), room);
}

absl::StatusOr<std::shared_ptr<BlobCache>> BlobCache::Open(const std::string& folder,
                                                           uint64_t most) {
  // Without the folder, blobs are in memory only.
  const size_t slash = folder.rfind('/');
  if (slash != folder.npos && slash > 0) MakeDirectories(folder.substr(0, slash)).IgnoreError();
  (void)mkdir(folder.c_str(), 0700);
  struct stat info;
  if (lstat(folder.c_str(), &info) == 0) {
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat(folder,
                       ": the cache folder must belong to this user and be closed to others: "
                       "change its owner and mode (chmod 700), or name another folder"));
    }
  }
  NoteInput(folder);
  return std::shared_ptr<BlobCache>(new BlobCache(folder, most));
}

std::string BlobCache::Path(const Hash& hash) const { return folder_ + "/" + HexString(hash); }

void BlobCache::Forget(std::map<Hash, Mapped>::iterator it) {
  mapped_bytes_ -= it->second.blob->bytes().size();
  turns_.erase(it->second.turn);
  mapped_.erase(it);
}

void BlobCache::Remember(const Hash& hash, std::shared_ptr<const Blob> blob, uint64_t inode) {
  if (const auto it = mapped_.find(hash); it != mapped_.end()) Forget(it);
  mapped_bytes_ += blob->bytes().size();
  turns_.push_front(hash);
  mapped_[hash] = {std::move(blob), inode, absl::Now(), turns_.begin()};
  while (mapped_.size() > 1 && (mapped_.size() > kMaxMapped || mapped_bytes_ > most_)) {
    Forget(mapped_.find(turns_.back()));
  }
}

// FindMapped: a map of this process, while its file exists. A wiped file has no name any more, so
// its zeros are not taken for the value if the same value returns.
std::shared_ptr<const Blob> BlobCache::FindMapped(const Hash& hash, uint64_t size) {
  const auto stamp = FileStampOf(Path(hash));
  bool touch = false;
  std::shared_ptr<const Blob> blob;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = mapped_.find(hash);
    if (it == mapped_.end()) return nullptr;
    if (!stamp.ok() || stamp->inode != it->second.inode ||
        it->second.blob->bytes().size() != size) {
      Forget(it);
      return nullptr;
    }
    turns_.splice(turns_.begin(), turns_, it->second.turn);
    touch = absl::Now() - it->second.touched > kTouch;
    if (touch) it->second.touched = absl::Now();
    blob = it->second.blob;
    ++use_.found;
  }
  if (touch) utimensat(AT_FDCWD, Path(hash).c_str(), nullptr, 0);
  return blob;
}

absl::StatusOr<std::shared_ptr<const Blob>> BlobCache::Map(const Hash& hash, uint64_t size) {
  const std::string path = Path(hash);
  HEFT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  HEFT_ASSIGN_OR_RETURN(const FileStamp stamp, FileStampOf(path));
  if (file.bytes().size() != kHeader + size) {
    return absl::DataLossError(absl::StrCat(path, ": not as long as its blob"));
  }
  const ByteSpan bytes = file.bytes().subspan(kHeader);
  const auto header = Header(hash, bytes);
  if (!std::ranges::equal(header, file.bytes().first(kHeader))) {
    return absl::DataLossError(absl::StrCat(path, ": damaged"));
  }
  auto blob = std::make_shared<Blob>(bytes, file.owner());
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  const std::lock_guard<std::mutex> lock(mutex_);
  Remember(hash, blob, stamp.inode);
  return blob;
}

std::shared_ptr<const Blob> BlobCache::Find(const Hash& hash, uint64_t size) {
  if (auto blob = FindMapped(hash, size)) return blob;
  auto mapped = Map(hash, size);
  if (mapped.ok()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++use_.found;
    return *std::move(mapped);
  }
  if (absl::IsDataLoss(mapped.status())) {
    unlink(Path(hash).c_str());
    const std::lock_guard<std::mutex> lock(mutex_);
    ++use_.damaged;
  }
  return nullptr;
}

absl::StatusOr<std::shared_ptr<const Blob>> BlobCache::Keep(const Hash& hash, ByteSpan bytes) {
  if (HashBytes(bytes) != hash) {
    return absl::DataLossError(absl::StrCat(
        "the database's blob ", HexString(hash),
        " is damaged: its bytes have another hash. Bring the database back from a backup"));
  }
  const absl::Status written =
      bytes.size() > most_ ? absl::UnavailableError("larger than the cache") : Write(hash, bytes);
  if (written.ok()) {
    auto mapped = Map(hash, bytes.size());
    const std::lock_guard<std::mutex> lock(mutex_);
    ++use_.kept;
    if (mapped.ok()) return mapped;
  } else {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++use_.refused;
  }
  return Blob::Copied(bytes);
}

absl::Status BlobCache::Write(const Hash& hash, ByteSpan bytes) {
  MakeRoom(kHeader + bytes.size());
  const NoFileSizeSignal no_signal;
  std::string path = absl::StrCat(folder_, "/", HexString(hash), std::string(kTemporary), "XXXXXX");
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return internal::SystemError("cannot create a file in", folder_, errno);
  const auto header = Header(hash, bytes);
  const bool written = WriteAll(fd, header) && WriteAll(fd, bytes);
  const int error = errno;
  close(fd);
  if (written && rename(path.c_str(), Path(hash).c_str()) == 0) return absl::OkStatus();
  const absl::Status failed = internal::SystemError("cannot write", path, written ? errno : error);
  unlink(path.c_str());
  return failed;
}

// MakeRoom: removes the least recently used files first. Other processes add files too, so all are
// counted again after a sixteenth of the limit was added.
void BlobCache::MakeRoom(uint64_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  added_ += size;
  if (in_files_ && *in_files_ + added_ <= most_ && added_ <= most_ / 16) return;
  std::vector<File> files = FilesIn(folder_);
  uint64_t sum = 0;
  for (const File& file : files) sum += file.size;
  if (sum + size > most_) {
    std::ranges::sort(files, {}, &File::touched);
    for (const File& file : files) {
      if (sum + size <= most_ - most_ / 8) break;
      if (unlink((folder_ + "/" + file.name).c_str()) == 0) sum -= file.size;
    }
  }
  in_files_ = sum + size;
  added_ = 0;
}

absl::Status BlobCache::Wipe(const std::function<bool(const Hash&)>& live) {
  absl::Status status;
  for (const File& file : FilesIn(folder_)) {
    const Hash hash = *HashOf(file.name);
    if (live(hash)) continue;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (const auto it = mapped_.find(hash); it != mapped_.end()) Forget(it);
    }
    const std::string path = folder_ + "/" + file.name;
    // Of two concurrent wipes, one finds nothing.
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) continue;
    absl::Status wiped;
    if (fd < 0 || unlink(path.c_str()) != 0) {
      wiped = internal::SystemError("cannot remove", path, errno);
    } else {
      wiped = Overwrite(fd, file.size, path);
    }
    if (fd >= 0) close(fd);
    if (status.ok()) status = wiped;
  }
  return status;
}

BlobCache::Use BlobCache::use() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return use_;
}

}  // namespace heft
