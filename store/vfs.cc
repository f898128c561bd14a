// SPDX-License-Identifier: Apache-2.0
#include "store/vfs.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace heft {
namespace {

// SQLite's places of locks (os_unix.c), so that its own tools see ours.
constexpr off_t kPending = 0x40000000, kReserved = kPending + 1, kShared = kPending + 2;
constexpr off_t kSharedBytes = 510;
constexpr off_t kIndexLocks = 120, kIndexAlive = kIndexLocks + SQLITE_SHM_NLOCK;
// Ours: by the number of the database's file.
constexpr off_t kIndexFiles = off_t{1} << 61, kIndexFileRange = off_t{1} << 60;

thread_local int t_error = 0;

int Failed(int code) {
  t_error = errno;
  return errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : code;
}

// StoreFile: an open database or log. SQLite gives the memory; the rest is behind `own`.
struct Own {
  int fd = -1;
  std::string path;
  bool database = false;  // or a log
  bool made = false;      // its name may not be durable
  int level = SQLITE_LOCK_NONE;
  int index = -1;  // the log's index
  bool in_memory = false;
  std::vector<void*> regions;
  int region_bytes = 0;
};
struct StoreFile {
  sqlite3_file base;
  Own* own;
};

Own& Of(sqlite3_file* file) { return *reinterpret_cast<StoreFile*>(file)->own; }

sqlite3_vfs* System() { return sqlite3_vfs_find("unix"); }

uint64_t SizeOf(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

int Unmap(sqlite3_file* file, int) {
  Own& own = Of(file);
  for (void* const region : own.regions) {
    if (own.in_memory) {
      std::free(region);
    } else {
      munmap(region, own.region_bytes);
    }
  }
  own.regions.clear();
  if (own.index >= 0) close(own.index);
  own.index = -1;
  return SQLITE_OK;
}

int Close(sqlite3_file* file) {
  Unmap(file, 0);
  close(Of(file).fd);
  delete &Of(file);
  return SQLITE_OK;
}

int Read(sqlite3_file* file, void* out, int size, sqlite3_int64 at) {
  auto* to = static_cast<uint8_t*>(out);
  while (size > 0) {
    const ssize_t n = pread(Of(file).fd, to, size, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed(SQLITE_IOERR_READ);
    if (n == 0) break;
    to += n;
    at += n;
    size -= static_cast<int>(n);
  }
  std::memset(to, 0, size);
  return size == 0 ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int Write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
  const Own& own = Of(file);
  const ByteSpan bytes(static_cast<const uint8_t*>(from), size);
  bool written = false;
  if (own.database && size >= 512 && at % size == 0) {
    std::vector<uint8_t> page(bytes.begin(), bytes.end());
    ClearGap(page, static_cast<uint32_t>(at / size + 1));
    written = WriteAt(own.fd, page, at);
  } else {
    written = WriteAt(own.fd, bytes, at);
    if (written && !own.database) WriteAhead(own.fd, static_cast<uint64_t>(at) + bytes.size());
  }
  return written ? SQLITE_OK : Failed(SQLITE_IOERR_WRITE);
}

// Truncate: overwrites the bytes that it cuts off. The beginning goes first, because half a log
// would be taken for an older one. It also syncs where the file is that short already: an earlier
// sync may have failed.
int Truncate(sqlite3_file* file, sqlite3_int64 to) {
  const Own& own = Of(file);
  const uint64_t size = SizeOf(own.fd), end = static_cast<uint64_t>(to);
  const uint64_t first = std::min<uint64_t>(size - std::min(size, end), 4096);
  const bool done = (first == 0 || (WriteZeros(own.fd, end, first) && fdatasync(own.fd) == 0 &&
                                    WriteZeros(own.fd, end + first, size - end - first) &&
                                    fdatasync(own.fd) == 0 && ftruncate(own.fd, to) == 0)) &&
                    fsync(own.fd) == 0;
  return done ? SQLITE_OK : Failed(SQLITE_IOERR_TRUNCATE);
}

int Sync(sqlite3_file* file, int) {
  Own& own = Of(file);
  if (fdatasync(own.fd) != 0) return Failed(SQLITE_IOERR_FSYNC);
  if (!own.made) return SQLITE_OK;
  const std::string folder = own.path.substr(0, own.path.rfind('/'));
  const int fd = open(folder.empty() ? "/" : folder.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int code = synced ? SQLITE_OK : Failed(SQLITE_IOERR_DIR_FSYNC);
  if (fd >= 0) close(fd);
  own.made = !synced;
  return code;
}

int Size(sqlite3_file* file, sqlite3_int64* size) {
  struct stat info;
  if (fstat(Of(file).fd, &info) != 0) return Failed(SQLITE_IOERR_FSTAT);
  *size = info.st_size;
  return SQLITE_OK;
}

int Lock(sqlite3_file* file, int level) {
  Own& own = Of(file);
  if (own.level >= level) return SQLITE_OK;
  if (own.level == SQLITE_LOCK_NONE) {
    if (!LockBytes(own.fd, F_RDLCK, kPending, 1)) return SQLITE_BUSY;
    const bool locked = LockBytes(own.fd, F_RDLCK, kShared, kSharedBytes);
    LockBytes(own.fd, F_UNLCK, kPending, 1);
    if (!locked) return SQLITE_BUSY;
    own.level = SQLITE_LOCK_SHARED;
  }
  if (level == SQLITE_LOCK_RESERVED) {
    if (!LockBytes(own.fd, F_WRLCK, kReserved, 1)) return SQLITE_BUSY;
  } else if (level == SQLITE_LOCK_EXCLUSIVE) {
    if (!LockBytes(own.fd, F_WRLCK, kPending, 1)) return SQLITE_BUSY;
    own.level = SQLITE_LOCK_PENDING;
    if (!LockBytes(own.fd, F_WRLCK, kShared, kSharedBytes)) return SQLITE_BUSY;
  }
  own.level = level;
  return SQLITE_OK;
}

int Unlock(sqlite3_file* file, int level) {
  Own& own = Of(file);
  if (own.level <= level) return SQLITE_OK;
  if (level == SQLITE_LOCK_SHARED) {
    LockBytes(own.fd, F_RDLCK, kShared, kSharedBytes);
    LockBytes(own.fd, F_UNLCK, kPending, 2);
  } else {
    LockBytes(own.fd, F_UNLCK, kPending, 2 + kSharedBytes);
  }
  own.level = level;
  return SQLITE_OK;
}

int Reserved(sqlite3_file* file, int* held) {
  struct flock lock = FileRange(F_WRLCK, kReserved, 1);
  if (fcntl(Of(file).fd, F_OFD_GETLK, &lock) != 0) return Failed(SQLITE_IOERR_CHECKRESERVEDLOCK);
  *held = lock.l_type != F_UNLCK;
  return SQLITE_OK;
}

int Control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int Sector(sqlite3_file*) { return 4096; }
int Characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

// JoinIndex: takes the locks of a user of the index. The first user empties it: it may be from
// before a power loss.
int JoinIndex(const Own& own) {
  if (LockBytes(own.index, F_WRLCK, kIndexAlive, 1) && ftruncate(own.index, 3) != 0) {
    return Failed(SQLITE_IOERR_SHMOPEN);
  }
  if (!LockBytes(own.index, F_RDLCK, kIndexAlive, 1)) return SQLITE_BUSY;
  // Each user of the index has a lock that says for which file.
  struct stat info;
  if (fstat(own.fd, &info) != 0) return Failed(SQLITE_IOERR_FSTAT);
  const off_t ours = kIndexFiles + static_cast<off_t>(info.st_ino % kIndexFileRange);
  if (!LockBytes(own.index, F_RDLCK, ours, 1) ||
      LocksIn(own.index, kIndexFiles, ours) +
              LocksIn(own.index, ours + 1, kIndexFiles + kIndexFileRange) !=
          0) {
    errno = ESTALE;
    return Failed(SQLITE_CANTOPEN);
  }
  return SQLITE_OK;
}

// OpenIndex: an index without its locks is closed again. Another process could empty it while it is
// mapped here.
int OpenIndex(Own& own) {
  if (own.index >= 0 || own.in_memory) return SQLITE_OK;
  const std::string path = own.path + "-shm";
  own.index = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (own.index < 0 && errno == EROFS) {
    own.in_memory = true;
    return SQLITE_OK;
  }
  if (own.index < 0) return Failed(SQLITE_CANTOPEN);
  const int rc = JoinIndex(own);
  if (rc != SQLITE_OK) {
    close(own.index);
    own.index = -1;
  }
  return rc;
}

int Map(sqlite3_file* file, int number, int size, int extend, void volatile** out) {
  Own& own = Of(file);
  *out = nullptr;
  if (const int rc = OpenIndex(own); rc != SQLITE_OK) return rc;
  own.region_bytes = size;
  while (static_cast<int>(own.regions.size()) <= number) {
    const off_t at = static_cast<off_t>(own.regions.size()) * size;
    void* region = nullptr;
    if (own.in_memory) {
      region = std::calloc(1, size);
      if (region == nullptr) return SQLITE_IOERR_NOMEM;
    } else {
      if (SizeOf(own.index) < static_cast<uint64_t>(at + size)) {
        if (!extend) return SQLITE_OK;
        errno = posix_fallocate(own.index, 0, at + size);
        if (errno != 0) return Failed(SQLITE_IOERR_SHMSIZE);
      }
      region = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, own.index, at);
      if (region == MAP_FAILED) return Failed(SQLITE_IOERR_SHMMAP);
    }
    own.regions.push_back(region);
  }
  *out = own.regions[number];
  return SQLITE_OK;
}

int LockIndex(sqlite3_file* file, int first, int count, int flags) {
  const Own& own = Of(file);
  if (own.in_memory) return SQLITE_OK;
  const short type = (flags & SQLITE_SHM_UNLOCK) != 0      ? F_UNLCK
                     : (flags & SQLITE_SHM_EXCLUSIVE) != 0 ? F_WRLCK
                                                           : F_RDLCK;
  return LockBytes(own.index, type, kIndexLocks + first, count) ? SQLITE_OK : SQLITE_BUSY;
}

void Barrier(sqlite3_file*) { std::atomic_thread_fence(std::memory_order_seq_cst); }

constexpr sqlite3_io_methods kMethods = {
    2,      Close,    Read,    Write,  Truncate,        Sync, Size,      Lock,
    Unlock, Reserved, Control, Sector, Characteristics, Map,  LockIndex, Barrier,
    Unmap,  nullptr,  nullptr};

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  if (name == nullptr || (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) == 0) {
    return System()->xOpen(System(), name, file, flags, out_flags);
  }
  file->pMethods = nullptr;
  const int create = (flags & SQLITE_OPEN_CREATE) != 0 ? O_CREAT : 0;
  const int common = O_CLOEXEC | O_NOFOLLOW;
  const bool read_only = (flags & SQLITE_OPEN_READONLY) != 0;
  bool made = false;
  int fd = open(name, common | (read_only ? O_RDONLY : O_RDWR));
  if (fd < 0 && errno == ENOENT && create != 0 && !read_only) {
    fd = open(name, common | O_RDWR | O_CREAT, 0600);
    made = fd >= 0;
  }
  const bool refused = fd < 0 && (errno == EROFS || errno == EACCES || errno == EPERM);
  if (refused && !read_only) {
    fd = open(name, common | O_RDONLY);
    flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
  }
  if (fd < 0) return Failed(SQLITE_CANTOPEN);
  auto* const own = new (std::nothrow) Own;
  if (own == nullptr) {
    close(fd);
    return SQLITE_NOMEM;
  }
  own->fd = fd;
  own->path = name;
  own->database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
  own->made = made;
  reinterpret_cast<StoreFile*>(file)->own = own;
  file->pMethods = &kMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

const char* Register() {
  static sqlite3_vfs vfs;
  if (sqlite3_initialize() != SQLITE_OK || System() == nullptr) return nullptr;
  vfs = *System();
  vfs.pNext = nullptr;
  vfs.zName = "heft-store";
  vfs.szOsFile = std::max<int>(vfs.szOsFile, sizeof(StoreFile));
  vfs.xOpen = Open;
  return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK ? vfs.zName : nullptr;
}

uint32_t U16(std::span<const uint8_t> page, size_t at) { return page[at] << 8 | page[at + 1]; }

}  // namespace

const char* StoreVfs() {
  static const char* const name = Register();
  return name;
}

int VfsError() { return t_error; }
void ClearVfsError() { t_error = 0; }

struct flock FileRange(short type, off_t first, off_t bytes) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = first;
  range.l_len = bytes;
  return range;
}

bool LockBytes(int fd, short type, off_t first, off_t bytes) {
  struct flock lock = FileRange(type, first, bytes);
  int rc;
  do {
    rc = fcntl(fd, F_OFD_SETLK, &lock);
  } while (rc != 0 && errno == EINTR);
  if (rc != 0 && errno != EAGAIN && errno != EACCES) t_error = errno;
  return rc == 0;
}

uint64_t LocksIn(int fd, off_t from, off_t to) {
  if (from >= to) return 0;
  struct flock lock = FileRange(F_WRLCK, from, to - from);
  if (fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
  const off_t begin = std::max(from, lock.l_start);
  const off_t end = lock.l_len == 0 ? to : std::min(to, lock.l_start + lock.l_len);
  return static_cast<uint64_t>(end - begin) + LocksIn(fd, from, begin) + LocksIn(fd, end, to);
}

bool WriteAt(int fd, ByteSpan bytes, uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n == 0) errno = ENOSPC;
      return false;
    }
    bytes = bytes.subspan(static_cast<size_t>(n));
    at += static_cast<uint64_t>(n);
  }
  return true;
}

bool WriteZeros(int fd, uint64_t at, uint64_t size) {
  // Never freed: a store in a global variable may end last.
  static const auto& zeros = *new std::vector<uint8_t>(1 << 18);
  for (uint64_t n = 0; size > 0; at += n, size -= n) {
    n = std::min<uint64_t>(size, zeros.size());
    if (!WriteAt(fd, ByteSpan(zeros).first(n), at)) return false;
  }
  return true;
}

void WriteAhead(int fd, uint64_t end) {
  constexpr uint64_t kAhead = 1 << 20;
  if (SizeOf(fd) == end) WriteZeros(fd, end, kAhead);
}

// A page of a table (SQLite's file format, 1.6): a header of 8 or 12 bytes, 2 bytes for each entry,
// the gap, the entries. A free block among the entries begins with the next one's place and its own
// size. Page 1 has 100 bytes before. Pages that map others to their parents, which
// incremental vacuum needs, can look alike; their numbers tell them apart.
void ClearGap(std::span<uint8_t> page, uint32_t number) {
  const size_t per_map = page.size() / 5 + 1;
  if (number >= 2 && (number - 2) % per_map == 0) return;
  const size_t head = number == 1 ? 100 : 0;
  const uint8_t kind = page[head];
  const bool leaf = kind == 10 || kind == 13;
  if (!leaf && kind != 2 && kind != 5) return;
  const size_t begin = head + (leaf ? 8 : 12) + 2 * U16(page, head + 3);
  size_t end = U16(page, head + 5);
  if (end == 0) end = 65536;
  if (begin > end || end > page.size()) return;
  const auto clear = [&](size_t from, size_t to) {
    std::fill(page.begin() + static_cast<std::ptrdiff_t>(from),
              page.begin() + static_cast<std::ptrdiff_t>(to), 0);
  };
  clear(begin, end);
  for (size_t at = U16(page, head + 1); at >= end && at + 4 <= page.size(); at = U16(page, at)) {
    const size_t size = U16(page, at + 2);
    if (size < 4 || at + size > page.size()) return;
    clear(at + 4, at + size);
    end = at + size;
  }
}

}  // namespace heft
