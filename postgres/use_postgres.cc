// SPDX-License-Identifier: Apache-2.0
#include "postgres/use_postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "heft/files.h"
#include "postgres/libpq_session.h"
#include "postgres/sql_store.h"
#include "store/scheme.h"

namespace heft {
namespace {

absl::StatusOr<uint64_t> CacheBytes(uint64_t given) {
  if (given != 0) return given;
  const char* const text = std::getenv("HEFT_BLOB_CACHE_BYTES");
  if (text == nullptr || *text == '\0') return kBlobCacheBytes;
  uint64_t bytes = 0;
  if (absl::SimpleAtoi(text, &bytes)) return bytes;
  return absl::InvalidArgumentError(
      absl::StrCat("HEFT_BLOB_CACHE_BYTES is \"", text, "\": give a number of bytes"));
}

// Databases: those open in this process, by service. A forked child opens its own.
class Databases {
 public:
  absl::StatusOr<std::shared_ptr<Store>> Open(const std::string& service, const std::string& local,
                                              StoreMode mode, uint64_t cache_bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::weak_ptr<SqlDatabase>& known = open_[{getpid(), service}];
    if (auto database = known.lock()) return SqlStoreOf(std::move(database), mode);
    // Only the server's user may read its files.
    HEFT_RETURN_IF_ERROR(MakeDirectories(local.substr(0, local.rfind('/'))));
    (void)mkdir(local.c_str(), 0700);
    HEFT_RETURN_IF_ERROR(MakeDirectories(local));
    SqlOptions options;
    options.name = absl::StrCat(std::string(kPostgresScheme), service);
    HEFT_ASSIGN_OR_RETURN(options.cache, BlobCache::Open(local + "/blobs", cache_bytes));
    HEFT_ASSIGN_OR_RETURN(auto database,
                          SqlDatabase::Open([service] { return ConnectByService(service); }, mode,
                                            std::move(options)));
    known = database;
    return SqlStoreOf(std::move(database), mode);
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<pid_t, std::string>, std::weak_ptr<SqlDatabase>> open_;
};

}  // namespace

void UsePostgres(uint64_t cache) {
  static auto* const databases = new Databases;
  RegisterScheme(kPostgresScheme,
                 [cache](const std::string& name, const std::string& local,
                         StoreMode mode) -> absl::StatusOr<std::shared_ptr<Store>> {
                   HEFT_ASSIGN_OR_RETURN(const uint64_t bytes, CacheBytes(cache));
                   return databases->Open(name, local, mode, bytes);
                 });
}

}  // namespace heft
