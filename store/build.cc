// SPDX-License-Identifier: Apache-2.0
// New stores, empty ones and copies: they are created completely or not at all.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/csprng.h"
#include "base/file_size_signal.h"
#include "base/files.h"
#include "store/sqlite.h"

namespace heft {
namespace {

// kStep: bytes copied between calls of `progress`.
constexpr uint64_t kStep = uint64_t{1} << 26;

// Fill: copies the entries of `from`, and calls `progress` with the bytes done, of `all`.
absl::Status Fill(StoreTables* tables, const StoreReader& from, uint64_t all,
                  const std::function<bool(uint64_t, uint64_t)>& progress) {
  StoreTables::Space space;
  uint64_t done = 0, step = 0;
  const auto say = [&]() -> absl::Status {
    done += std::exchange(step, 0);
    space.taken.clear();
    if (progress != nullptr && !progress(std::min(done, all), all)) {
      return absl::CancelledError("the copy of the store was stopped");
    }
    return CheckNotInterrupted();
  };
  absl::Status status;
  for (size_t i = 0; i < kTables; ++i) {
    const Table table = static_cast<Table>(i);
    HEFT_RETURN_IF_ERROR(from.Scan(table, {}, [&](ByteSpan key, ByteSpan value) {
      status = tables->Put(table, key, value, &space);
      step += key.size() + value.size();
      if (status.ok() && step >= kStep) status = say();
      return status.ok();
    }));
    HEFT_RETURN_IF_ERROR(status);
  }
  return say();
}

absl::Status MakeEmpty(const std::string& path, const std::string& folder) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return SystemStoreError("make", folder, errno);
  close(fd);
  return absl::OkStatus();
}

void RemoveDatabase(const std::string& path) {
  for (const char* const end : {"", "-wal", "-shm"}) unlink(absl::StrCat(path, end).c_str());
}

absl::Status Build(const std::string& folder, const StoreReader* from, uint64_t all,
                   const std::function<bool(uint64_t, uint64_t)>& progress) {
  const absl::Status status =
      BuildDatabase(StorePath(folder), folder, [&](Database* database) -> absl::Status {
        StoreIdentity identity;
        Csprng().Fill(identity);
        HEFT_ASSIGN_OR_RETURN(const auto blocks,
                              BlockFile::Create(BlocksPath(folder), folder, identity));
        HEFT_RETURN_IF_ERROR(database->Run("BEGIN", "make"));
        HEFT_RETURN_IF_ERROR(StoreTables::Make(database, identity));
        StoreTables tables(database, blocks.get());
        if (from != nullptr) HEFT_RETURN_IF_ERROR(Fill(&tables, *from, all, progress));
        HEFT_RETURN_IF_ERROR(blocks->Sync());
        return database->Run("COMMIT", "make");
      });
  if (!status.ok()) unlink(BlocksPath(folder).c_str());
  return status;
}

// IsEmpty: ignores leftovers of a killed copy.
bool IsEmpty(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name == "store.sqlite" || !IsStoreFile(name)) return false;
  }
  return !error;
}

}  // namespace

absl::Status SyncFile(const std::string& path, const std::string& folder) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const absl::Status status = synced ? absl::OkStatus() : SystemStoreError("make", folder, errno);
  if (fd >= 0) close(fd);
  return status;
}

absl::Status BuildDatabase(const std::string& path, const std::string& folder,
                           const std::function<absl::Status(Database*)>& fill) {
  const NoFileSizeSignal no_signal;
  const std::string part = absl::StrCat(path, ".new");
  RemoveDatabase(part);
  RemoveDatabase(path);  // a log without its database
  const auto write = [&]() -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(const auto database,
                          Database::Open(part, folder, Database::Mode::kBuild));
    HEFT_RETURN_IF_ERROR(fill(database.get()));
    return database->Run("PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL", "make");
  };
  absl::Status status = write();
  if (status.ok()) status = SyncFile(part, folder);
  // A copy of these files over those of another database replaces its log, too.
  if (status.ok()) status = MakeEmpty(absl::StrCat(path, "-wal"), folder);
  if (status.ok() && rename(part.c_str(), path.c_str()) != 0) {
    status = SystemStoreError("make", folder, errno);
  }
  RemoveDatabase(part);
  if (status.ok()) return SyncDirectory(std::filesystem::absolute(path).parent_path().string());
  RemoveDatabase(path);
  return status;
}

absl::Status CreateStore(const std::string& folder) {
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  HEFT_ASSIGN_OR_RETURN(const FileLock lock, LockStore(folder, absl::Seconds(30)));
  if (FolderStoreExists(folder)) return absl::OkStatus();
  return Build(folder, nullptr, 0, nullptr);
}

absl::Status CopyStore(const std::string& folder, const StoreReader& from, uint64_t bytes,
                       const std::function<bool(uint64_t, uint64_t)>& progress) {
  std::error_code error;
  const bool existed = std::filesystem::exists(folder, error);
  if (existed && !IsEmpty(folder)) {
    return absl::AlreadyExistsError(absl::StrCat("cannot copy the store to ", folder,
                                                 ": it exists already, choose another name"));
  }
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  absl::Status status;
  {
    auto lock = LockStore(folder, absl::ZeroDuration());
    status = lock.ok() ? Build(folder, &from, bytes, progress) : lock.status();
  }
  if (status.ok()) return status;
  unlink(absl::StrCat(folder, "/lock").c_str());
  if (!existed) rmdir(folder.c_str());
  return status;
}

}  // namespace heft
