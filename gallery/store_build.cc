// SPDX-License-Identifier: Apache-2.0
// New stores, empty ones and copies: they are created completely or not at all.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "gallery/store_lmdb.h"

namespace heft {
namespace {

// kStep: bytes copied in one transaction, which LMDB keeps in memory.
constexpr uint64_t kStep = uint64_t{1} << 26;

// Fill: copies the entries of `from`, and calls `progress` with the bytes done, of `all`.
absl::Status Fill(const std::shared_ptr<LmdbEnvironment>& environment, const StoreReader& from,
                  uint64_t all, const std::function<bool(uint64_t, uint64_t)>& progress) {
  uint64_t done = 0, step = 0;
  const NoFileSizeSignal no_signal;  // once, not for each entry
  std::unique_ptr<LmdbWriter> writer;
  const auto commit = [&]() -> absl::Status {
    if (writer != nullptr) HEFT_RETURN_IF_ERROR(writer->Commit());
    writer = nullptr;
    environment->Flush();
    done += step;
    step = 0;
    if (progress != nullptr && !progress(std::min(done, all), all)) {
      return absl::CancelledError("the copy of the store was stopped");
    }
    return CheckNotInterrupted();
  };
  absl::Status status;
  const auto put = [&](Table table, ByteSpan key, ByteSpan value) -> absl::Status {
    if (writer == nullptr) {
      HEFT_ASSIGN_OR_RETURN(LmdbTransaction transaction, environment->Begin(true));
      writer = std::make_unique<LmdbWriter>(std::move(transaction), [] {});
    }
    HEFT_RETURN_IF_ERROR(writer->Put(table, key, value));
    step += key.size() + value.size();
    return step < kStep ? absl::OkStatus() : commit();
  };
  for (size_t i = 0; i < kTables; ++i) {
    const Table table = static_cast<Table>(i);
    HEFT_RETURN_IF_ERROR(from.Scan(table, {}, [&](ByteSpan key, ByteSpan value) {
      status = put(table, key, value);
      return status.ok();
    }));
    HEFT_RETURN_IF_ERROR(status);
  }
  return commit();
}

// Removal: deletes a file that has not got its name.
struct Removal {
  ~Removal() {
    if (!path.empty()) unlink(path.c_str());
  }
  std::string path;
};

absl::Status Build(const std::string& folder, const StoreReader* from, uint64_t all,
                   const std::function<bool(uint64_t, uint64_t)>& progress) {
  const std::string path = StorePath(folder);
  Removal removal{absl::StrCat(path, ".new")};
  if (unlink(removal.path.c_str()) != 0 && errno != ENOENT) {
    return LmdbError("make", folder, errno);
  }
  {
    HEFT_ASSIGN_OR_RETURN(const auto environment, LmdbEnvironment::Build(removal.path, folder));
    if (from != nullptr) HEFT_RETURN_IF_ERROR(Fill(environment, *from, all, progress));
    HEFT_RETURN_IF_ERROR(environment->Sync());
  }
  if (rename(removal.path.c_str(), path.c_str()) != 0) return LmdbError("make", folder, errno);
  removal.path.clear();
  return SyncDirectory(folder);
}

// IsEmpty: ignores leftovers of a killed copy.
bool IsEmpty(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name != "lock" && name != "store.mdb.new") return false;
  }
  return !error;
}

}  // namespace

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
