// SPDX-License-Identifier: Apache-2.0
// The store in LMDB: what its sources share. A folder holds
//
//   store.mdb       the tables: LMDB's named databases, and a record of the store's own version
//   store.mdb-lock  LMDB's: who reads which state, in all processes
//   lock            held by whoever writes
//
// A value of kLongValue bytes and more fills whole pages, at least two, behind LMDB's header of 16
// bytes: value, zeros, its length as 8 bytes. So it begins at kValueOffset modulo kValueAlignment,
// and no byte of its pages is left from what they were before.
//
//   LmdbFile         store.mdb as LMDB has it open                        store_lmdb_file.cc
//   LmdbEnvironment  it, shared by all who have it open in this process   store_environment.cc
//   LmdbTransaction  a state of it, or the next                           store_environment.cc
//   LmdbReader, LmdbWriter  them, as a Store's                            store_transactions.cc
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

// kMostReaders: states that may be held at a time, in all processes.
inline constexpr unsigned kMostReaders = 1024;
// kMostValue: LMDB has 32 bits for a length.
inline constexpr size_t kMostValue = size_t{1} << 31;

std::string StorePath(const std::string& folder);  // FOLDER/store.mdb

// LmdbError: what LMDB's or the system's error `rc` means for the store in `folder`, and what to
// do.
absl::Status LmdbError(std::string_view action, const std::string& folder, int rc);
absl::Status DamagedStore(const std::string& folder, std::string_view why);
absl::Status ReplacedStore(const std::string& folder);

// FileMap: a file's bytes, as long as it is now.
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

// LmdbFile: kBuild: a new file that nobody else knows: no locks, durable only after Sync.
class LmdbFile {
 public:
  enum class Mode { kRead, kWrite, kBuild };
  // `path`: of the file; `folder`: for messages. kNotFound, kDataLoss, kFailedPrecondition,
  // kUnavailable.
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
  // Meta: of a state; kAborted where others have committed twice since.
  absl::StatusOr<MetaPage> Meta(uint64_t state) const;
  // CheckPages: that the pages of a state hold together; all of them, or those that LMDB needs to
  // find the others. kAborted where others have committed twice meanwhile.
  absl::Status CheckPages(MDB_txn* txn, bool all) const;
  // Map: the file's pages in LMDB's map, as far as it goes now. InMap: whether a value lies there,
  // or would, if the file were longer.
  bool mapped() const { return base_ != nullptr; }  // not while it is being made
  ByteSpan Map() const;
  bool InMap(const uint8_t* begin) const;

  // How many transactions are open.
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
  const uint8_t* base_ = nullptr;  // of LMDB's map
};

class LmdbTransaction;

// LmdbEnvironment: LMDB wants a file opened once in a process, so all who open a store share one.
class LmdbEnvironment : public std::enable_shared_from_this<LmdbEnvironment> {
 public:
  using Id = std::pair<dev_t, ino_t>;  // of the file

  static absl::StatusOr<std::shared_ptr<LmdbEnvironment>> Open(const std::string& folder);
  // Build: for a file that is being made.
  static absl::StatusOr<std::shared_ptr<LmdbEnvironment>> Build(const std::string& path,
                                                                const std::string& folder);
  ~LmdbEnvironment();

  absl::StatusOr<LmdbTransaction> Begin(bool write);
  // CheckPlace: kFailedPrecondition where the file that has the store's name is another one by now.
  absl::Status CheckPlace() const;
  const std::string& folder() const { return folder_; }
  bool writable() const { return mode_ != LmdbFile::Mode::kRead; }

  // Reader: a state that somebody holds.
  struct Reader {
    pid_t pid;
    uint64_t state;
  };
  std::vector<Reader> Readers();
  // Of a file that is being made: Flush: begins to write what there is; Sync: until it is written.
  void Flush();
  absl::Status Sync();
  // CheckReaders: forgets those whose process is no more.
  void CheckReaders();

  // Under the writer's lock, for Scrub (store_scrub.cc):
  // Pages: as far as they are known after the commit of `state`; 0: they are not.
  struct Pages {
    uint64_t state = 0, scrubbed = 0;
    std::vector<bool> kept;   // by number: in use, and clean, when last scrubbed, and ever since
    std::vector<bool> wiped;  // free, and zeros, when last scrubbed, and ever since
  };
  Pages pages;
  // Buffers: LMDB holds at most so many. Scrubs: those of the store up to which they were dropped.
  static constexpr size_t kFewBuffers = 64;
  size_t buffers = kFewBuffers;
  std::optional<uint64_t> scrubs;
  // A StoreWriter is there.
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
  std::optional<Id> id_;  // once others may find it
  LmdbFile::Mode mode_;

  // Held shared where a transaction begins, alone where the file is opened anew.
  std::shared_mutex opening_;
  std::unique_ptr<LmdbFile> file_;
  // Files after a failure, whose states are still read. LMDB must not close one while another of
  // the same store is open.
  std::vector<std::unique_ptr<LmdbFile>> retired_;
  int guard_ = -1;
};

// LmdbTransaction: ends when destroyed; by the thread that began it, if it writes. A copy of it
// that fork has made does nothing.
class LmdbTransaction {
 public:
  LmdbTransaction(LmdbTransaction&& other) noexcept;
  LmdbTransaction& operator=(LmdbTransaction&&) = delete;
  ~LmdbTransaction();

  MDB_txn* get() const { return txn_; }
  bool writes() const { return writes_; }
  const LmdbFile& file() const { return *file_; }
  LmdbEnvironment& environment() const { return *environment_; }
  // Commit: 0, or LMDB's error. Not to be used afterwards.
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

// LmdbPages: the pages of the state that a transaction began with. LMDB trusts them, so they are
// checked before it looks into them.
class LmdbPages {
 public:
  explicit LmdbPages(const LmdbTransaction& transaction);
  // Check: those that it needs for `key`. kDataLoss.
  absl::StatusOr<PageWalk::Path> Check(Table table, ByteSpan key);

 private:
  absl::StatusOr<PageWalk::Path> Find(Table table, ByteSpan key);

  const std::string folder_;
  PageWalk walk_;
  absl::StatusOr<MetaPage> meta_;
  std::array<std::optional<PageTree>, kTables> trees_;
};

// LmdbReader: a lock of its own around LMDB's cursors, so that any number of threads may use it.
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
  const std::thread::id thread_ = std::this_thread::get_id();  // LMDB's lock is its own
  mutable std::mutex mutex_;
  // Values that this transaction has put lie anywhere: copies, aligned, until the next change.
  mutable std::vector<std::vector<uint8_t>> aligned_;
  absl::Status failure_;
  size_t changes_ = 0, free_pages_ = 0;
  mutable LmdbPages pages_;
};

// PagesCommitted: LmdbEnvironment::Pages after the commit of a transaction (store_scrub.cc).
void PagesCommitted(LmdbEnvironment& environment, uint64_t state);
// BeginClean: drops LMDB's buffers where another process has scrubbed the store since; 0, or LMDB's
// error.
int BeginClean(LmdbEnvironment& environment, const LmdbTransaction& transaction);
// ScrubStore: Store::Scrub.
absl::Status ScrubStore(LmdbEnvironment& environment, absl::Duration wait);

// OpenFolderStore, FolderStoreExists: as OpenStore and StoreExists, of a folder.
absl::StatusOr<std::shared_ptr<Store>> OpenFolderStore(const std::string& folder, StoreMode mode);
bool FolderStoreExists(const std::string& folder);

// LockStore: the writer's lock of the store in `folder`, whether or not there is one yet, in the
// order in which they come who wait for it (gallery/writer_queue.h). Somebody before this one who
// does not take it for `patience`, because he is suspended, is not waited for.
absl::StatusOr<FileLock> LockStore(const std::string& folder, absl::Duration wait,
                                   absl::Duration patience = absl::Milliseconds(250));
// CreateStore: an empty store, unless there is one (store_build.cc).
absl::Status CreateStore(const std::string& folder);

}  // namespace heft

#endif  // HEFT_GALLERY_STORE_LMDB_H_
