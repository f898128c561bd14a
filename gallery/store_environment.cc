// SPDX-License-Identifier: Apache-2.0
// LMDB's environments, one per store in a process, and their transactions.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <map>

#include "absl/strings/str_cat.h"
#include "gallery/store_lmdb.h"

namespace heft {
namespace {

std::optional<LmdbEnvironment::Id> FileId(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return LmdbEnvironment::Id(info.st_dev, info.st_ino);
}

// Registry: the stores that this process has open. A forked child has its own, because LMDB's locks
// belong to the parent.
class Registry {
 public:
  using Id = LmdbEnvironment::Id;
  using Make = std::function<absl::StatusOr<std::shared_ptr<LmdbEnvironment>>()>;

  static Registry& Get() {
    static std::atomic<Registry*> current = nullptr;
    Registry* registry = current.load();
    while (registry == nullptr || registry->process_ != getpid()) {
      Registry* const made = new Registry;
      if (current.compare_exchange_strong(registry, made)) return *made;
      delete made;
    }
    return *registry;
  }

  // Find: the open store, or the result of `make`. Waits for a store that is being closed.
  absl::StatusOr<std::shared_ptr<LmdbEnvironment>> Find(const Id& id, const std::string& folder,
                                                        const Make& make) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (auto it = open_.find(id); it != open_.end(); it = open_.find(id)) {
      if (auto environment = it->second.environment.lock()) return environment;
      closed_.wait(lock);
    }
    // LMDB finds its table of readers by the path, even if another file is there now.
    const std::string lock_path = absl::StrCat(StorePath(folder), "-lock");
    for (const auto& [other, entry] : open_) {
      if (entry.readers.has_value() && entry.readers == FileId(lock_path))
        return ReplacedStore(folder);
    }
    HEFT_ASSIGN_OR_RETURN(auto environment, make());
    open_[id] = {environment, FileId(lock_path)};
    return environment;
  }

  // Close: while no thread opens it.
  void Close(const Id& id, const std::function<void()>& close) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      close();
      open_.erase(id);
    }
    closed_.notify_all();
  }

 private:
  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable closed_;
  struct Entry {
    std::weak_ptr<LmdbEnvironment> environment;
    std::optional<Id> readers;  // the file of LMDB's table of them
  };
  std::map<Id, Entry> open_;
};

int AddReader(const char* line, void* readers) {
  LmdbEnvironment::Reader reader;
  unsigned long state;
  if (std::sscanf(line, "%d %*x %lu", &reader.pid, &state) == 2) {
    reader.state = state;
    static_cast<std::vector<LmdbEnvironment::Reader>*>(readers)->push_back(reader);
  }
  return 0;
}

}  // namespace

absl::StatusOr<std::shared_ptr<LmdbEnvironment>> LmdbEnvironment::Open(const std::string& folder) {
  const std::string path = StorePath(folder);
  const std::optional<Id> id = FileId(path);
  if (!id.has_value()) return LmdbError("open", folder, errno);
  return Registry::Get().Find(*id, folder,
                              [&]() -> absl::StatusOr<std::shared_ptr<LmdbEnvironment>> {
                                std::shared_ptr<LmdbEnvironment> environment(
                                    new LmdbEnvironment(path, folder, LmdbFile::Mode::kWrite));
                                HEFT_RETURN_IF_ERROR(environment->OpenFile());
                                environment->id_ = id;
                                return environment;
                              });
}

absl::StatusOr<std::shared_ptr<LmdbEnvironment>> LmdbEnvironment::Build(const std::string& path,
                                                                        const std::string& folder) {
  std::shared_ptr<LmdbEnvironment> environment(
      new LmdbEnvironment(path, folder, LmdbFile::Mode::kBuild));
  HEFT_ASSIGN_OR_RETURN(environment->file_, LmdbFile::Open(path, folder, environment->mode_));
  return environment;
}

LmdbEnvironment::LmdbEnvironment(std::string path, std::string folder, LmdbFile::Mode mode)
    : path_(std::move(path)), folder_(std::move(folder)), process_(getpid()), mode_(mode) {}

LmdbEnvironment::~LmdbEnvironment() {
  if (getpid() != process_) {
    // In a forked child: closing would release the parent's locks and readers.
    (void)file_.release();
    for (auto& file : retired_) (void)file.release();
    return;
  }
  const auto close_files = [this] {
    file_.reset();
    retired_.clear();
    if (guard_ >= 0) close(guard_);
  };
  if (id_.has_value()) {
    Registry::Get().Close(*id_, close_files);
  } else {
    close_files();
  }
}

// OpenFile: for writing if possible: the next user may want to write, and LMDB opens a file only
// once in a process.
absl::Status LmdbEnvironment::OpenFile() {
  const bool read_only = access(path_.c_str(), W_OK) != 0;
  mode_ = read_only ? LmdbFile::Mode::kRead : LmdbFile::Mode::kWrite;
  HEFT_ASSIGN_OR_RETURN(file_, LmdbFile::Open(path_, folder_, mode_));
  return absl::OkStatus();
}

// InUse: whether a state is held. Then no file is closed, not even another one: LMDB would forget
// all readers of this process with it.
bool LmdbEnvironment::InUse() const {
  return (file_ != nullptr && file_->transactions != 0) ||
         std::ranges::any_of(retired_, [](const auto& file) { return file->transactions != 0; });
}

// Reopen: LMDB takes no more transactions after a disk failure in the last write of a commit.
absl::Status LmdbEnvironment::Reopen() {
  std::unique_lock<std::shared_mutex> alone(opening_);
  MDB_txn* txn = nullptr;
  if (file_ != nullptr) {
    const int rc = mdb_txn_begin(file_->env(), nullptr, MDB_RDONLY, &txn);
    if (rc == 0) mdb_txn_abort(txn);
    if (rc != MDB_PANIC) return absl::OkStatus();  // another thread has done it
    if (!InUse()) {
      retired_.clear();
      file_ = nullptr;
    } else {
      // Its states are still read, so another file is opened beside it. This lock tells LMDB not to
      // start a new table of readers; closing it would release LMDB's own lock.
      if (guard_ < 0) guard_ = open(absl::StrCat(path_, "-lock").c_str(), O_RDWR | O_CLOEXEC);
      struct flock shared = {};
      shared.l_type = F_RDLCK;
      shared.l_whence = SEEK_SET;
      shared.l_len = 1;
      if (guard_ < 0 || fcntl(guard_, F_OFD_SETLK, &shared) != 0) {
        return LmdbError("reopen", folder_, errno);
      }
      retired_.push_back(std::move(file_));
    }
  }
  return OpenFile();
}

// Grow: for a file that another process has grown beyond our map.
absl::Status LmdbEnvironment::Grow() {
  std::unique_lock<std::shared_mutex> alone(opening_);
  if (InUse()) return LmdbError("read", folder_, MDB_MAP_RESIZED);
  retired_.clear();
  file_ = nullptr;
  return OpenFile();
}

absl::StatusOr<LmdbTransaction> LmdbEnvironment::Begin(bool write) {
  if (getpid() != process_) {
    return absl::FailedPreconditionError(
        absl::StrCat("the store in ", folder_, " was opened before a fork: open it again"));
  }
  int rc = MDB_PANIC;
  for (int attempt = 0; attempt < 3; ++attempt) {
    {
      std::shared_lock<std::shared_mutex> shared(opening_);
      MDB_txn* txn = nullptr;
      if (file_ != nullptr) rc = mdb_txn_begin(file_->env(), nullptr, write ? 0 : MDB_RDONLY, &txn);
      if (rc == 0) return LmdbTransaction(shared_from_this(), file_.get(), txn, write);
    }
    if (rc == MDB_PANIC) {
      HEFT_RETURN_IF_ERROR(Reopen());
    } else if (rc == MDB_READERS_FULL) {
      CheckReaders();
    } else if (rc == MDB_MAP_RESIZED) {
      HEFT_RETURN_IF_ERROR(Grow());
    } else {
      break;
    }
  }
  return LmdbError(write ? "write to" : "read", folder_, rc);
}

void LmdbEnvironment::CheckReaders() {
  std::shared_lock<std::shared_mutex> shared(opening_);
  if (file_ != nullptr) mdb_reader_check(file_->env(), nullptr);
}

absl::Status LmdbEnvironment::CheckPlace() const {
  return FileId(path_) == id_ ? absl::OkStatus() : ReplacedStore(folder_);
}

void LmdbEnvironment::Flush() { sync_file_range(file_->descriptor(), 0, 0, SYNC_FILE_RANGE_WRITE); }

absl::Status LmdbEnvironment::Sync() {
  const int rc = mdb_env_sync(file_->env(), 1);
  return rc == 0 ? absl::OkStatus() : LmdbError("write to", folder_, rc);
}

std::vector<LmdbEnvironment::Reader> LmdbEnvironment::Readers() {
  std::shared_lock<std::shared_mutex> shared(opening_);
  std::vector<Reader> readers;
  if (file_ != nullptr) mdb_reader_list(file_->env(), AddReader, &readers);
  return readers;
}

LmdbTransaction::LmdbTransaction(std::shared_ptr<LmdbEnvironment> environment, LmdbFile* file,
                                 MDB_txn* txn, bool writes)
    : environment_(std::move(environment)), file_(file), txn_(txn), writes_(writes) {
  ++file_->transactions;
}

LmdbTransaction::LmdbTransaction(LmdbTransaction&& other) noexcept
    : environment_(std::move(other.environment_)),
      file_(other.file_),
      txn_(std::exchange(other.txn_, nullptr)),
      writes_(other.writes_) {}

LmdbTransaction::~LmdbTransaction() {
  // In a forked child: the reader that LMDB would remove is the parent's.
  if (txn_ == nullptr || getpid() != environment_->process_) return;
  mdb_txn_abort(txn_);
  --file_->transactions;
}

int LmdbTransaction::Commit() {
  const NoFileSizeSignal no_signal;
  const int rc = mdb_txn_commit(std::exchange(txn_, nullptr));
  --file_->transactions;
  return rc;
}

}  // namespace heft
