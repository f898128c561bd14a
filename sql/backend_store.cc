// SPDX-License-Identifier: Apache-2.0
#include "sql/backend_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "heft/files.h"
#include "postgres/blob_cache.h"
#include "postgres/sql_store.h"
#include "sql/spi_session.h"
#include "store/scheme.h"

namespace heft::sql {
namespace {

// BackendStore: but for Scrub as the store of every other session.
class BackendStore : public Store {
 public:
  explicit BackendStore(std::shared_ptr<Store> store) : store_(std::move(store)) {}

  absl::StatusOr<std::unique_ptr<StoreReader>> Read() const override { return store_->Read(); }
  absl::StatusOr<std::unique_ptr<StoreLock>> Lock(absl::Duration wait) override {
    return store_->Lock(wait);
  }
  absl::StatusOr<std::unique_ptr<StoreWriter>> Write(const StoreLock& lock) override {
    return store_->Write(lock);
  }
  // A receipt states a completed erasure, but the caller's transaction is still open and may be
  // rolled back.
  absl::Status Scrub(const StoreLock&, absl::Duration) override {
    return absl::UnavailableError(
        "the transaction is not committed yet: run `heft-server gallery compact` afterwards to "
        "overwrite erased data and get the receipts");
  }
  absl::Status Copy(const std::string& folder,
                    const std::function<bool(uint64_t, uint64_t)>& progress) const override {
    return store_->Copy(folder, progress);
  }
  absl::StatusOr<StoreStatistics> Statistics() const override { return store_->Statistics(); }
  absl::Status Check() const override { return store_->Check(); }
  bool Final() const override { return false; }
  std::string Remains() const override { return store_->Remains(); }

 private:
  const std::shared_ptr<Store> store_;
};

// Backend: what this process has open. One job at a time uses it.
struct Backend {
  std::string folder, database_name;
  uint64_t cache_bytes = 0;
  std::shared_ptr<SqlDatabase> database;
  std::map<std::string, Gallery> galleries;  // without a hold on their states

  static Backend& Get() {
    static auto* const backend = new Backend;
    return *backend;
  }
};

// MakeLocal: the folder of the server's own files: its user's alone.
absl::Status MakeLocal(const std::string& local) {
  struct stat info;
  const std::string& folder = Backend::Get().folder;
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return absl::UnavailableError(absl::StrCat("heft.state_directory: there is no folder ", folder,
                                               ": make it, and let the server's user own it"));
  }
  if (info.st_uid != geteuid() || (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("heft.state_directory: other users may enter ", folder,
                     ": let the server's user own it, with mode 0700"));
  }
  return MakeDirectories(local);
}

absl::StatusOr<std::shared_ptr<Store>> Open(const std::string& name, const std::string& local,
                                            StoreMode mode) {
  Backend& backend = Backend::Get();
  if (backend.database == nullptr) {
    HEFT_RETURN_IF_ERROR(MakeLocal(local));
    SqlOptions options;
    options.name = absl::StrCat("database ", name);
    if (backend.cache_bytes > 0) {
      HEFT_ASSIGN_OR_RETURN(options.cache, BlobCache::Open(local + "/blobs", backend.cache_bytes));
    }
    HEFT_ASSIGN_OR_RETURN(backend.database,
                          SqlDatabase::Open(ConnectSpi, StoreMode::kRead, std::move(options)));
  }
  return std::make_shared<BackendStore>(SqlStoreOf(backend.database, mode));
}

}  // namespace

void UseBackendStore(const std::string& folder, const std::string& database, uint64_t cache_bytes) {
  Backend& backend = Backend::Get();
  if (backend.folder == folder && backend.cache_bytes == cache_bytes &&
      backend.database_name == database) {
    return;
  }
  backend.galleries.clear();
  backend.database = nullptr;
  backend.folder = folder;
  backend.database_name = database;
  backend.cache_bytes = cache_bytes;
  // Whatever a server remembers beside its galleries, it remembers there.
  setenv("HEFT_STATE_DIR", folder.c_str(), 1);
  RegisterScheme(kPostgresScheme, Open);
}

std::string AddressOf(const std::string& gallery) {
  return absl::StrCat(std::string(kPostgresScheme), Backend::Get().database_name, ":", gallery);
}

std::string LocalFolder() {
  return absl::StrCat(Backend::Get().folder, "/stores/postgres/", Backend::Get().database_name);
}

absl::StatusOr<Gallery> OpenGallery(const std::string& address) {
  std::map<std::string, Gallery>& known = Backend::Get().galleries;
  const auto found = known.find(address);
  auto opened = found == known.end() ? Gallery::Open(address) : found->second.Newest();
  HEFT_RETURN_IF_ERROR(opened.status());
  known.insert_or_assign(address, opened->Unread());
  return opened;
}

}  // namespace heft::sql
