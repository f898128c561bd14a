// SPDX-License-Identifier: Apache-2.0
// store.mdb as LMDB has it open, and what LMDB's errors mean.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "gallery/store_lmdb.h"
#include "gallery/store_pages.h"

namespace heft {
namespace {

// The version of the tables' form, not of the galleries' data in them.
constexpr std::string_view kVersionKey = "heft store";
constexpr uint8_t kStoreVersion = 1;

// The file may grow to this within one process's life; more where it is large already. Of address
// space, not of memory.
constexpr size_t kLeastMap = size_t{1} << 38;
constexpr size_t kSmallestMap = size_t{1} << 26;

constexpr size_t kLargestPage = 32768;

size_t FileSize(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 ? info.st_size : 0;
}

std::string Name(size_t table) { return std::string(TableName(static_cast<Table>(table))); }

MDB_val ValueOf(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }

}  // namespace

std::string StorePath(const std::string& folder) { return absl::StrCat(folder, "/store.mdb"); }

absl::Status DamagedStore(const std::string& folder, std::string_view why) {
  return absl::DataLossError(absl::StrCat(
      "the store in ", folder, " is damaged: ", std::string(why), ": restore a snapshot of it"));
}

absl::Status ReplacedStore(const std::string& folder) {
  return absl::FailedPreconditionError(
      absl::StrCat("the store in ", folder,
                   " was replaced while other processes have it open: end them, then try again"));
}

absl::Status LmdbError(std::string_view action, const std::string& folder, int rc) {
  const auto unavailable = [&](std::string_view what) {
    return absl::UnavailableError(absl::StrCat("cannot ", std::string(action), " the store in ",
                                               folder, ": ", mdb_strerror(rc), ": ",
                                               std::string(what)));
  };
  switch (rc) {
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_CURSOR_FULL:
      return DamagedStore(folder, mdb_strerror(rc));
    case MDB_VERSION_MISMATCH:
      return absl::FailedPreconditionError(
          absl::StrCat("the store in ", folder,
                       " was made by another version of LMDB: export it with that version, then "
                       "import it here"));
    case ENOENT:
      return absl::NotFoundError(absl::StrCat("there is no store in ", folder));
    case MDB_READERS_FULL:
      return unavailable("too many processes read it: end some of them, or try again later");
    case MDB_MAP_FULL:
    case MDB_MAP_RESIZED:
      return unavailable(
          "it is larger than this process may map: allow more address space (ulimit -v) and open "
          "it "
          "again");
    case MDB_TXN_FULL:
      return unavailable("make these changes in several steps");
    case ENOSPC:
    case EDQUOT:
      return unavailable("nothing was changed: make room on the disk, then try again");
    case EFBIG:
      return unavailable("nothing was changed: allow larger files (ulimit -f), then try again");
    case EIO:
      return unavailable(
          "nothing was changed: the disk is full or fails (see the kernel's log), or files may not "
          "be that large (ulimit -f)");
    case EROFS:
    case EACCES:
    case EPERM:
      return unavailable("allow this user to write there, or open a copy of it");
    case EMFILE:
    case ENFILE:
      return unavailable("allow more open files (ulimit -n)");
    case ENOMEM:
      return unavailable("allow more memory or address space (ulimit -v)");
    default:
      return unavailable("nothing was changed");
  }
}

// CheckFile: checks the file's header before LMDB maps it.
absl::Status LmdbFile::CheckFile(const std::string& path) const {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return LmdbError("open", folder_, errno);
  absl::Status status;
  // Again where a commit came in between.
  for (int attempt = 0; attempt < 5; ++attempt) {
    status = absl::OkStatus();
    size_t page = 0;
    for (int i = 0; i < 2 && status.ok(); ++i) {
      std::array<uint8_t, 512> begin;
      const bool there = pread(fd, begin.data(), begin.size(), i * page) == begin.size();
      const auto meta = there ? ReadMeta(begin) : absl::DataLossError("it is cut off");
      status = meta.status();
      if (!meta.ok()) break;
      page = meta->free_pages.page_size;
      // LMDB writes no file that is shorter than so, of pages that it took and gave back.
      constexpr uint64_t kMostTimes = 64, kSmall = uint64_t{1} << 30;
      const uint64_t size = std::max<uint64_t>(FileSize(fd), kSmall);
      if (meta->last_page >= kMostTimes * size / page)
        status = absl::DataLossError("it is cut off");
    }
    if (status.ok()) break;
    usleep(1000);
  }
  close(fd);
  return status.ok() ? status : DamagedStore(folder_, std::string(status.message()));
}

absl::StatusOr<MetaPage> LmdbFile::Meta(uint64_t state) const {
  std::array<uint8_t, 512> begin;
  if (pread(descriptor(), begin.data(), begin.size(), state % 2 * page_) != begin.size()) {
    return absl::DataLossError("it is cut off");
  }
  HEFT_ASSIGN_OR_RETURN(const MetaPage meta, ReadMeta(begin));
  if (meta.state != state) return absl::AbortedError("others write");
  return meta;
}

absl::Status LmdbFile::CheckPages(MDB_txn* txn, bool all) const {
  const auto check = [&]() -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(const MetaPage meta, Meta(mdb_txn_id(txn)));
    HEFT_ASSIGN_OR_RETURN(const FileMap map, FileMap::Make(descriptor()));
    PageWalk walk(map.bytes(), page_);
    walk.strict = all;
    if (!all && (meta.last_page + 1) * page_ <= map.bytes().size()) {
      walk.leaf = [](uint64_t) { return false; };
    }
    return walk.Walk(meta);
  };
  const absl::Status status = check();
  if (!absl::IsDataLoss(status)) return status;
  return DamagedStore(folder_, std::string(status.message()));
}

// FindMap: LMDB does not say where its map is. It is found by the page of a record.
absl::Status LmdbFile::FindMap(MDB_txn* txn) {
  const auto meta = Meta(mdb_txn_id(txn));
  if (absl::IsAborted(meta.status())) return meta.status();
  MDB_val key = ValueOf(kVersionKey), value;
  const int rc = mdb_get(txn, names_, &key, &value);
  if (rc == MDB_NOTFOUND) return DamagedStore(folder_, "it has no version");
  if (rc != 0) return LmdbError("read", folder_, rc);
  if (!meta.ok() || meta->names.depth != 1) return DamagedStore(folder_, "it has too many tables");
  const auto at = reinterpret_cast<uintptr_t>(value.mv_data);
  base_ = reinterpret_cast<const uint8_t*>(at - at % page_ - meta->names.root * page_);
  return absl::OkStatus();
}

// OpenEnvironment: the map is as large as the limits allow.
int LmdbFile::OpenEnvironment(const std::string& path) {
  struct stat info;
  size_t smallest = kSmallestMap, size = kLeastMap;
  if (stat(path.c_str(), &info) == 0) {
    smallest = std::max<size_t>(smallest, info.st_size);
    size = std::max<size_t>(size, 4 * info.st_size);
  }
  // Read-ahead stays on: matching reads the map from one end to the other.
  unsigned flags = MDB_NOSUBDIR | MDB_NOTLS;
  if (mode_ == Mode::kRead) flags |= MDB_RDONLY;
  if (mode_ == Mode::kBuild) flags |= MDB_NOLOCK | MDB_NOSYNC;
  while (true) {
    int rc = mdb_env_create(&env_);
    if (rc != 0) return rc;
    if ((rc = mdb_env_set_maxdbs(env_, kTables)) == 0 &&
        (rc = mdb_env_set_maxreaders(env_, kMostReaders)) == 0 &&
        (rc = mdb_env_set_mapsize(env_, size)) == 0 &&
        (rc = mdb_env_open(env_, path.c_str(), flags, 0600)) == 0) {
      return 0;
    }
    mdb_env_close(env_);
    env_ = nullptr;
    if (rc != ENOMEM || size / 2 < smallest) return rc;
    size /= 2;
  }
}

absl::Status LmdbFile::CheckVersion(MDB_txn* txn) const {
  MDB_val key = ValueOf(kVersionKey), value;
  const int rc = mdb_get(txn, names_, &key, &value);
  if (rc == MDB_NOTFOUND) return DamagedStore(folder_, "it has no version");
  if (rc != 0) return LmdbError("read", folder_, rc);
  if (value.mv_size == 1 && *static_cast<const uint8_t*>(value.mv_data) == kStoreVersion) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the store in ", folder_, " is of another version (",
      value.mv_size == 0 ? 0 : *static_cast<const uint8_t*>(value.mv_data), "; this is ",
      kStoreVersion, "): use the version of HEFT that made it, or a newer one"));
}

// MakeTables: of a new file.
int LmdbFile::MakeTables(MDB_txn* txn) {
  uint8_t version = kStoreVersion;
  MDB_val key = ValueOf(kVersionKey), value = {1, &version};
  int rc = mdb_put(txn, names_, &key, &value, 0);
  for (size_t i = 0; i < kTables && rc == 0; ++i) {
    rc = mdb_dbi_open(txn, Name(i).c_str(), MDB_CREATE, &tables_[i]);
  }
  return rc;
}

absl::Status LmdbFile::FindTables(MDB_txn* txn) {
  HEFT_RETURN_IF_ERROR(CheckPages(txn, false));
  HEFT_RETURN_IF_ERROR(FindMap(txn));
  HEFT_RETURN_IF_ERROR(CheckVersion(txn));
  for (size_t i = 0; i < kTables; ++i) {
    const int rc = mdb_dbi_open(txn, Name(i).c_str(), 0, &tables_[i]);
    if (rc == MDB_NOTFOUND || rc == MDB_INCOMPATIBLE) {
      return DamagedStore(folder_, "a table is missing");
    }
    if (rc != 0) return LmdbError("open", folder_, rc);
  }
  return absl::OkStatus();
}

absl::Status LmdbFile::OpenTables() {
  MDB_txn* txn = nullptr;
  const bool build = mode_ == Mode::kBuild;
  int rc = mdb_txn_begin(env_, nullptr, build ? 0 : MDB_RDONLY, &txn);
  if (rc != 0) return LmdbError("open", folder_, rc);
  rc = mdb_dbi_open(txn, nullptr, 0, &names_);
  if (rc == 0 && build) rc = MakeTables(txn);
  absl::Status status = rc == 0 ? absl::OkStatus() : LmdbError("open", folder_, rc);
  if (rc == 0 && !build) status = FindTables(txn);
  if (!status.ok()) {
    mdb_txn_abort(txn);
    return status;
  }
  rc = mdb_txn_commit(txn);
  return rc == 0 ? absl::OkStatus() : LmdbError("open", folder_, rc);
}

absl::StatusOr<std::unique_ptr<LmdbFile>> LmdbFile::Open(const std::string& path,
                                                         const std::string& folder, Mode mode) {
  const NoFileSizeSignal no_signal;
  std::unique_ptr<LmdbFile> file(new LmdbFile(folder, mode));
  if (mode != Mode::kBuild) HEFT_RETURN_IF_ERROR(file->CheckFile(path));
  const int rc = file->OpenEnvironment(path);
  if (rc != 0) return LmdbError("open", folder, rc);
  // LMDB leaves this one open in programs that are started.
  fcntl(file->descriptor(), F_SETFD, FD_CLOEXEC);
  MDB_stat stat;
  mdb_env_stat(file->env_, &stat);
  file->page_ = stat.ms_psize;
  if (file->page_ < 4096 || file->page_ > kLargestPage || (file->page_ & (file->page_ - 1)) != 0) {
    return DamagedStore(folder, "its pages have no size");
  }
  absl::Status status;
  for (int attempt = 0; attempt < 100; ++attempt) {
    status = file->OpenTables();
    if (!absl::IsAborted(status)) break;
  }
  // What others say is the newest state is not in this file.
  if (absl::IsAborted(status)) return ReplacedStore(folder);
  if (!status.ok()) return status;
  return file;
}

LmdbFile::~LmdbFile() {
  if (env_ != nullptr) mdb_env_close(env_);
}

int LmdbFile::descriptor() const {
  int fd = -1;
  mdb_env_get_fd(env_, &fd);
  return fd;
}

ByteSpan LmdbFile::Map() const {
  MDB_envinfo info;
  mdb_env_info(env_, &info);
  return {base_, std::min(info.me_mapsize, FileSize(descriptor()))};
}

bool LmdbFile::InMap(const uint8_t* begin) const {
  MDB_envinfo info;
  mdb_env_info(env_, &info);
  return base_ != nullptr &&
         reinterpret_cast<uintptr_t>(begin) - reinterpret_cast<uintptr_t>(base_) < info.me_mapsize;
}

absl::StatusOr<FileMap> FileMap::Make(int fd) {
  const size_t size = FileSize(fd);
  void* const at = mmap(nullptr, std::max<size_t>(size, 1), PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) {
    return absl::UnavailableError(
        absl::StrCat("cannot map the store: ", std::strerror(errno),
                     errno == ENOMEM ? ": allow more memory or address space (ulimit -v)" : ""));
  }
  return FileMap({static_cast<const uint8_t*>(at), size});
}

FileMap::FileMap(FileMap&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

FileMap::~FileMap() {
  if (bytes_.data() != nullptr) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace heft
