// SPDX-License-Identifier: Apache-2.0
// The store in LMDB: declarations shared by its sources. A folder contains
//
//   store.mdb       the tables: LMDB's named databases, and a record of the store's own version
//   store.mdb-lock  LMDB's table of readers and their states, over all processes
//   lock            held by the writer
//
// A value of at least kLongValue bytes fills whole pages, at least two, behind LMDB's header of 16
// bytes: the value, zeros, its length as 8 bytes. So it begins at kValueOffset modulo
// kValueAlignment, and nothing of the pages' earlier contents is left.
//
//     LmdbFile         store.mdb, opened by LMDB                          store_lmdb_file.cc
//     LmdbEnvironment  the file, shared by all its users in this process  store_environment.cc
//     LmdbTransaction  one state of the file, or the next state           store_environment.cc
//     LmdbReader, LmdbWriter  a transaction, with the interface of Store  store_transactions.cc
#ifndef HEFT_GALLERY_STORE_LMDB_H_
#define HEFT_GALLERY_STORE_LMDB_H_

#include <lmdb.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_size_signal.h"
#include "base/files.h"
#include "gallery/store.h"
#include "gallery/store_copy.h"
#include "gallery/store_pages.h"

namespace heft {

// kMostReaders: states that may be held at the same time, over all processes.
inline constexpr unsigned kMostReaders = 1024;
// kMostValue: LMDB's lengths have 32 bits.
inline constexpr size_t kMostValue = size_t{1} << 31;

std::string StorePath(const std::string& folder);  // FOLDER/store.mdb

// LmdbError: explains error `rc`, LMDB's or the system's, for the store in `folder`, and says what
// to do.
absl::Status LmdbError(std::string_view action, const std::string& folder, int rc);
absl::Status DamagedStore(const std::string& folder, std::string_view why);
absl::Status ReplacedStore(const std::string& folder);

// FileMap: the bytes of a file, with its present length.
class FileMap {
 public:
  static absl::StatusOr<FileMap> Make(int fd);
  FileMap(FileMap&& other) noexcept;
  FileMap& operator=(FileMap&&) = delete;
  ~FileMap();
  ByteSpan bytes() const { return bytes_; }

 private:
  explicit FileMap(ByteSpan bytes) : bytes_(bytes) {}
  ByteSpan bytes_;
};

// LmdbFile. kBuild: a new file that no other process uses, without locks, durable only after Sync.
class LmdbFile {
 public:
  enum class Mode { kRead, kWrite, kBuild };
  // `folder` is for messages. kNotFound, kDataLoss, kFailedPrecondition, kUnavailable.
  static absl::StatusOr<std::unique_ptr<LmdbFile>> Open(const std::string& path,
                                                        const std::string& folder, Mode mode);
  ~LmdbFile();
  LmdbFile(const LmdbFile&) = delete;
  LmdbFile& operator=(const LmdbFile&) = delete;

  MDB_env* env() const { return env_; }
  MDB_dbi table(Table table) const { return tables_[static_cast<size_t>(table)]; }
  MDB_dbi names() const { return names_; }  // LMDB's table of tables
  size_t page() const { return page_; }
  int descriptor() const;
  // Meta: the meta page of a state. kAborted after two later commits by others.
  absl::StatusOr<MetaPage> Meta(uint64_t state) const;
  // CheckPages: checks that the pages of a state are consistent: all of them, or those that LMDB
  // reads to find the others. kAborted after two later commits by others.
  absl::Status CheckPages(MDB_txn* txn, bool all) const;
  // Map: the file's pages in LMDB's map, at its present size. InMap: whether a value is in the map,
  // or would be if the file were longer.
  bool mapped() const { return base_ != nullptr; }  // false while it is being built
  ByteSpan Map() const;
  bool InMap(const uint8_t* begin) const;

  // The number of open transactions.
  std::atomic<int> transactions = 0;

 private:
  LmdbFile(std::string folder, Mode mode) : folder_(std::move(folder)), mode_(mode) {}
  absl::Status CheckFile(const std::string& path) const;
  int OpenEnvironment(const std::string& path);
  absl::Status FindMap(MDB_txn* txn);
  absl::Status CheckVersion(MDB_txn* txn) const;
  int MakeTables(MDB_txn* txn);
  absl::Status FindTables(MDB_txn* txn);
  absl::Status OpenTables();

  const std::string folder_;
  const Mode mode_;
  MDB_env* env_ = nullptr;
  MDB_dbi names_ = 0;
  std::array<MDB_dbi, kTables> tables_ = {};
  size_t page_ = 0;
  const uint8_t* base_ = nullptr;  // the start of LMDB's map
};

class LmdbTransaction;

// LmdbEnvironment: LMDB requires that a process opens a file once, so all its users share one.
class LmdbEnvironment : public std::enable_shared_from_this<LmdbEnvironment> {
 public:
  using Id = std::pair<dev_t, ino_t>;  // of the file

  static absl::StatusOr<std::shared_ptr<LmdbEnvironment>> Open(const std::string& folder);
  // Build: for a file that is being built.
  static absl::StatusOr<std::shared_ptr<LmdbEnvironment>> Build(const std::string& path,
                                                                const std::string& folder);
  ~LmdbEnvironment();

  absl::StatusOr<LmdbTransaction> Begin(bool write);
  // CheckPlace: kFailedPrecondition if the store's path now names another file.
  absl::Status CheckPlace() const;
  const std::string& folder() const { return folder_; }
  bool writable() const { return mode_ != LmdbFile::Mode::kRead; }

  // Reader: a state that is held.
  struct Reader {
    pid_t pid;
    uint64_t state;
  };
  std::vector<Reader> Readers();
  // For a file that is being built. Flush starts writing the data; Sync waits until it is written.
  void Flush();
  absl::Status Sync();
  // CheckReaders: forgets readers whose process has ended.
  void CheckReaders();

  // Under the writer's lock, for Scrub (store_scrub.cc).
  // Pages: the known pages after the commit of `state`; 0: unknown.
  struct Pages {
    uint64_t state = 0, scrubbed = 0;
    std::vector<bool> kept;   // by number: in use and clean since the last scrub
    std::vector<bool> wiped;  // free and zeros since the last scrub
  };
  Pages pages;
  // The most buffers that LMDB holds. Scrubs: the store's count of scrubs when they were last
  // dropped.
  static constexpr size_t kFewBuffers = 64;
  size_t buffers = kFewBuffers;
  std::optional<uint64_t> scrubs;
  // Whether a StoreWriter exists.
  std::atomic<bool> writing = false;

 private:
  friend class LmdbTransaction;
  LmdbEnvironment(std::string path, std::string folder, LmdbFile::Mode mode);
  absl::Status OpenFile();
  bool InUse() const;
  absl::Status Reopen();
  absl::Status Grow();

  const std::string path_, folder_;
  const pid_t process_;
  std::optional<Id> id_;  // once others can find it
  LmdbFile::Mode mode_;

  // Held shared while a transaction begins, exclusively while the file is opened again.
  std::shared_mutex opening_;
  std::unique_ptr<LmdbFile> file_;
  // Files whose states are still read after a failure. LMDB must not close a file while another one
  // of the same store is open.
  std::vector<std::unique_ptr<LmdbFile>> retired_;
  int guard_ = -1;
};

// LmdbTransaction: ends when destroyed. A writing one must be destroyed by the thread that began
// it. The copy in a forked child does nothing.
class LmdbTransaction {
 public:
  LmdbTransaction(LmdbTransaction&& other) noexcept;
  LmdbTransaction& operator=(LmdbTransaction&&) = delete;
  ~LmdbTransaction();

  MDB_txn* get() const { return txn_; }
  bool writes() const { return writes_; }
  const LmdbFile& file() const { return *file_; }
  LmdbEnvironment& environment() const { return *environment_; }
  // Commit: 0, or LMDB's error. The transaction cannot be used afterwards.
  int Commit();

 private:
  friend class LmdbEnvironment;
  LmdbTransaction(std::shared_ptr<LmdbEnvironment> environment, LmdbFile* file, MDB_txn* txn,
                  bool writes);

  std::shared_ptr<LmdbEnvironment> environment_;
  LmdbFile* file_;
  MDB_txn* txn_;
  bool writes_;
};

// LmdbPages: the pages of the state that a transaction began with. LMDB does not check pages, so
// this checks them before LMDB reads them.
class LmdbPages {
 public:
  explicit LmdbPages(const LmdbTransaction& transaction);
  // Check: the pages that LMDB reads for `key`. kDataLoss.
  absl::StatusOr<PageWalk::Path> Check(Table table, ByteSpan key);

 private:
  absl::StatusOr<PageWalk::Path> Find(Table table, ByteSpan key);

  const std::string folder_;
  PageWalk walk_;
  absl::StatusOr<MetaPage> meta_;
  std::array<std::optional<PageTree>, kTables> trees_;
};

// LmdbReader: has its own lock around LMDB's cursors, so any number of threads can use it.
class LmdbReader : public StoreReader {
 public:
  explicit LmdbReader(LmdbTransaction transaction);
  absl::StatusOr<std::optional<ByteSpan>> Get(Table table, ByteSpan key) const override;
  absl::Status Scan(Table table, ByteSpan from,
                    const std::function<bool(ByteSpan, ByteSpan)>& use) const override;

 private:
  const LmdbTransaction transaction_;
  const ByteSpan map_;
  mutable std::mutex mutex_;
  mutable LmdbPages pages_;
};

class LmdbWriter : public StoreWriter {
 public:
  // `done`: called when the transaction has ended.
  LmdbWriter(LmdbTransaction transaction, std::function<void()> done);
  ~LmdbWriter() override;
  absl::StatusOr<std::optional<ByteSpan>> Get(Table table, ByteSpan key) const override;
  absl::Status Scan(Table table, ByteSpan from,
                    const std::function<bool(ByteSpan, ByteSpan)>& use) const override;
  absl::Status Put(Table table, ByteSpan key, ByteSpan value) override;
  absl::Status Delete(Table table, ByteSpan key) override;
  absl::Status Commit() override;

 private:
  absl::Status CheckOpen() const;
  absl::Status CheckPath(Table table, ByteSpan key);
  unsigned Order() const;
  absl::Status Shorten(Table table, MDB_val key, size_t size);
  absl::Status PutLong(Table table, MDB_val key, ByteSpan value);
  absl::Status Failed(std::string_view action, int rc);
  ByteSpan Aligned(ByteSpan value) const;
  void End();

  std::optional<LmdbTransaction> transaction_;
  const std::string folder_;
  const std::function<void()> done_;
  const std::thread::id thread_ = std::this_thread::get_id();  // LMDB's lock belongs to it
  mutable std::mutex mutex_;
  // LMDB may put this transaction's values at any address: aligned copies, until the next change.
  mutable std::vector<std::vector<uint8_t>> aligned_;
  absl::Status failure_;
  size_t changes_ = 0, free_pages_ = 0;
  mutable LmdbPages pages_;
};

// PagesCommitted: updates LmdbEnvironment::Pages after a commit (store_scrub.cc).
void PagesCommitted(LmdbEnvironment& environment, uint64_t state);
// BeginClean: drops LMDB's buffers if another process has scrubbed the store since. 0, or LMDB's
// error.
int BeginClean(LmdbEnvironment& environment, const LmdbTransaction& transaction);
// ScrubStore: Store::Scrub.
absl::Status ScrubStore(LmdbEnvironment& environment, absl::Duration wait);

// OpenFolderStore, FolderStoreExists: as OpenStore and StoreExists, for a folder.
absl::StatusOr<std::shared_ptr<Store>> OpenFolderStore(const std::string& folder, StoreMode mode);
bool FolderStoreExists(const std::string& folder);

// LockStore: the writer's lock of the store in `folder`, which need not exist yet. Waiting writers
// get it in order of arrival (gallery/writer_queue.h). A writer that is next but does not take the
// lock for `patience` (it is suspended) is passed over.
absl::StatusOr<FileLock> LockStore(const std::string& folder, absl::Duration wait,
                                   absl::Duration patience = absl::Milliseconds(250));
// CreateStore: an empty store, unless there is one (store_build.cc).
absl::Status CreateStore(const std::string& folder);

}  // namespace heft

#endif  // HEFT_GALLERY_STORE_LMDB_H_
