// SPDX-License-Identifier: Apache-2.0
// Power that fails, and disks that do, at every write and every sync of a store's files. The calls
// by which a store writes are this program's own: they pass to the system, and are recorded, or
// fail where they are told to.
//
// HEFT_STORE_CUTS=N: so many disks at each point where the power fails, 5 without it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/testing.h"
#include "store/recorded_disk.h"
#include "store/store.h"

namespace heft {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;

constexpr absl::Duration kLong = absl::Seconds(60);
constexpr size_t kSector = 512;

// Images: the bytes of each of kStoreFiles.
using Images = std::vector<std::vector<uint8_t>>;
using Model = std::map<std::string, std::string>;

// Random: the same for the same seed.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15 + 1) {}
  uint64_t Draw() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  uint32_t Below(uint32_t bound) { return (Draw() >> 32) % bound; }
  std::string Bytes(size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = Draw() >> 40;
    return bytes;
  }

 private:
  uint64_t state_;
};

// Contents: by table's number and key.
Model Contents(const Store& store) {
  Model model;
  const auto reader = store.Read();
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return model;
  for (size_t i = 0; i < kTables; ++i) {
    const absl::Status status =
        (*reader)->Scan(static_cast<Table>(i), {}, [&](ByteSpan key, ByteSpan value) {
          model[absl::StrCat(i, " ") + std::string(key.begin(), key.end())] =
              std::string(value.begin(), value.end());
          return true;
        });
    EXPECT_TRUE(status.ok()) << status;
  }
  return model;
}

class StorePowerTest : public ::testing::Test {
 protected:
  StorePowerTest() {
    store_ = *OpenStore(folder_ / "store", StoreMode::kCreate);
    g_disk = DiskOf(folder_ / "store");
  }
  ~StorePowerTest() override { g_disk = {}; }

  // Files: their contents.
  Images Files() const {
    Images files;
    for (const char* const name : kStoreFiles) {
      files.push_back(*ReadFile(folder_ / "store/" + name));
    }
    return files;
  }

  // Change: some random changes of `model` and of the store. Those values that are no more go to
  // `gone`.
  absl::Status Change(Store& store, Model& model, Random& random,
                      std::vector<std::string>* gone = nullptr) {
    HEFT_ASSIGN_OR_RETURN(const auto lock, store.Lock(kLong));
    HEFT_ASSIGN_OR_RETURN(const auto writer, store.Write(*lock));
    Model next = model;
    std::vector<std::string> removed;
    for (uint32_t i = 0, n = 1 + random.Below(8); i < n; ++i) {
      const size_t table = random.Below(3);
      // Table 1 has short entries alone, and many.
      const std::string key = absl::StrCat("key ", random.Below(table == 1 ? 200 : 30));
      const std::string name = absl::StrCat(table, " ", key);
      if (const auto it = next.find(name); it != next.end()) removed.push_back(it->second);
      if (random.Below(3) == 0) {
        next.erase(name);
        HEFT_RETURN_IF_ERROR(writer->Delete(static_cast<Table>(table), AsBytes(key)));
        continue;
      }
      const size_t size =
          table != 1 && random.Below(3) == 0 ? 1024 + random.Below(40'000) : 30 + random.Below(800);
      next[name] = random.Bytes(size);
      HEFT_RETURN_IF_ERROR(
          writer->Put(static_cast<Table>(table), AsBytes(key), AsBytes(next[name])));
    }
    HEFT_RETURN_IF_ERROR(writer->Commit());
    model = std::move(next);
    if (gone != nullptr) gone->insert(gone->end(), removed.begin(), removed.end());
    return absl::OkStatus();
  }

  static absl::Status Scrub(Store& store) {
    HEFT_ASSIGN_OR_RETURN(const auto lock, store.Lock(kLong));
    return store.Scrub(*lock, kLong);
  }

  const testing::TemporaryFolder folder_;
  std::shared_ptr<Store> store_;
};

void Apply(std::vector<uint8_t>& image, const Event& event, size_t from, size_t size) {
  if (image.size() < event.at + from + size) image.resize(event.at + from + size);
  std::copy_n(event.bytes.begin() + from, size, image.begin() + event.at + from);
}

void ApplyAll(Images& images, const Event& event) {
  std::vector<uint8_t>& image = images[event.file];
  if (event.kind == Event::kWrite) return Apply(image, event, 0, event.bytes.size());
  if (event.kind == Event::kCut) return image.resize(event.at);
  const uint64_t end = std::min<uint64_t>(image.size(), event.at + event.size);
  for (uint64_t at = event.at; at < end; ++at) image[at] = 0;
}

// ApplyTorn: of a write those sectors that chance has let through.
void ApplyTorn(std::vector<uint8_t>& image, const Event& event, Random& random) {
  for (size_t from = 0; from < event.bytes.size();) {
    const size_t end = std::min<size_t>(event.bytes.size(),
                                        (event.at + from) / kSector * kSector + kSector - event.at);
    if (random.Below(2) == 0) Apply(image, event, from, end - from);
    from = end;
  }
}

// Cuts: opens what disks may hold where the power fails, in a folder of their own.
class Cuts {
 public:
  Cuts(const std::string& folder, Images images) : folder_(folder), durable_(std::move(images)) {
    EXPECT_TRUE(MakeDirectories(folder_).ok());
  }

  // Before: the power fails during `event`, all before it having returned. `which`: 0: nothing is
  // there that was not synced; 1: everything is; others: whole writes, or sectors, by chance.
  Images Before(const Event* event, uint32_t which, Random& random) const {
    Images images = durable_;
    const auto apply = [&](const Event& change) {
      if (which == 1) return ApplyAll(images, change);
      if (which == 0) return;
      if (which % 2 == 0 && change.kind == Event::kWrite) {
        return ApplyTorn(images[change.file], change, random);
      }
      if (random.Below(2) == 0) ApplyAll(images, change);
    };
    for (const Event* const change : pending_) apply(*change);
    if (event != nullptr && event->kind <= Event::kHole) apply(*event);
    return images;
  }

  void Pass(const Event& event) {
    if (event.kind <= Event::kHole) pending_.push_back(&event);
    if (event.kind != Event::kSync && event.kind != Event::kLost) return;
    std::erase_if(pending_, [&](const Event* change) {
      if (change->file != event.file) return false;
      if (event.kind == Event::kSync) ApplyAll(durable_, *change);
      return true;
    });
  }

  // Open: opens the store as it is afterwards.
  std::shared_ptr<Store> Open(const Images& images) const {
    for (size_t i = 0; i < images.size(); ++i) {
      const std::string path = absl::StrCat(folder_, "/", kStoreFiles[i]);
      const int fd = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
      EXPECT_EQ(Pwrite(fd, images[i].data(), images[i].size(), 0), images[i].size());
      close(fd);
    }
    const auto store = OpenStore(folder_, StoreMode::kWrite);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *store : nullptr;
  }

 private:
  const std::string folder_;
  Images durable_;
  std::vector<const Event*> pending_;
};

// Holds: whether a part of a value is in one of the files.
bool Holds(const Images& images, std::string_view value) {
  const std::string_view part = value.substr(value.size() / 2, 12);
  return std::ranges::any_of(images, [&](const auto& image) {
    const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
    return text.find(part) != text.npos;
  });
}

// At every write and every sync of a life of 60 changes and some scrubs: acknowledged changes are
// there, none is there by half, and the store can still be used.
TEST_F(StorePowerTest, PowerLossAtEveryWrite) {
  const char* const given = std::getenv("HEFT_STORE_CUTS");
  const uint32_t cuts = given == nullptr ? 5 : std::atoi(given);
  Images images = Files();
  std::vector<Event> log;
  std::vector<Model> models = {{}};
  std::map<size_t, std::vector<std::string>> scrubbed;  // by the number of its mark: what is gone
  Random random(1);
  {
    std::vector<std::string> gone;
    Model model;
    g_disk.log = &log;
    for (int i = 0; i < 60; ++i) {
      if (i % 7 == 6) {
        ASSERT_TRUE(Scrub(*store_).ok());
        scrubbed[models.size()] = std::exchange(gone, {});
      } else {
        ASSERT_TRUE(Change(*store_, model, random, &gone).ok());
      }
      models.push_back(model);
      log.push_back({Event::kMark});
    }
    g_disk.log = nullptr;
  }
  ASSERT_GT(log.size(), 400) << "or not all of it was recorded";
  Cuts disks(folder_ / "cut", std::move(images));
  size_t done = 0, opened = 0;
  for (const Event& event : log) {
    for (uint32_t which = 0; which < cuts; ++which) {
      const auto store = disks.Open(disks.Before(&event, which, random));
      ASSERT_NE(store, nullptr) << "at " << done << ", disk " << which;
      const absl::Status status = store->Check();
      ASSERT_TRUE(status.ok()) << status;
      Model found = Contents(*store);
      const Model& next = models[std::min(done + 1, models.size() - 1)];
      ASSERT_TRUE(found == models[done] || found == next) << "at " << done << ", disk " << which;
      ++opened;
      if (opened % 25 != 0) continue;
      Random other(opened);
      ASSERT_TRUE(Change(*store, found, other).ok());
      ASSERT_TRUE(Scrub(*store).ok());
      ASSERT_TRUE(store->Check().ok());
      ASSERT_TRUE(Contents(*store) == found);
    }
    disks.Pass(event);
    if (event.kind != Event::kMark) continue;
    ++done;
    const auto it = scrubbed.find(done);
    if (it == scrubbed.end()) continue;
    const Images left = disks.Before(nullptr, 0, random);
    for (const std::string& value : it->second) EXPECT_FALSE(Holds(left, value));
  }
  RecordProperty("disks", static_cast<int>(opened));
}

// Each call fails once, or it and all after it: an error, the store as it was, and the next change
// goes well. A reader lives through it.
TEST_F(StorePowerTest, EveryCallFails) {
  Random random(2);
  Model model;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Change(*store_, model, random).ok());
  for (const int error : {ENOSPC, EIO, 0}) {
    for (const bool for_good : {false, true}) {
      for (const bool read : {false, true}) {
        int failed = 0;
        const uint64_t seed = random.Draw();
        for (int call = 0;; ++call) {
          Random same(seed);  // the same change until it goes well
          const auto reader = read ? *store_->Read() : nullptr;
          Model next = model;
          g_disk.calls = 0;
          g_disk.error = error;
          g_disk.for_good = for_good;
          g_disk.fail_at = call;
          const absl::Status status = Change(*store_, next, same);
          const int calls = g_disk.calls;
          g_disk.fail_at = -1;
          if (status.ok()) model = next;
          // What fails after a commit, where its log is copied, is done again later.
          ASSERT_TRUE(status.ok() || calls > call) << status;
          ASSERT_TRUE(Contents(*store_) == model) << "call " << call << " of " << calls;
          if (status.ok() && calls <= call) break;
          if (status.ok()) continue;
          ++failed;
          ASSERT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
          ASSERT_TRUE(store_->Check().ok());
        }
        ASSERT_GE(failed, error == 0 ? 1 : 3);
        ASSERT_TRUE(Change(*store_, model, random).ok());
        ASSERT_TRUE(Contents(*store_) == model);
      }
    }
  }
}

// A failed sync loses the writes before it: the next scrub makes them again.
TEST_F(StorePowerTest, EveryCallOfAScrubFails) {
  Random random(3);
  Model model;
  Cuts disk(folder_ / "cut", Files());
  for (int call = 0;; ++call) {
    std::vector<std::string> gone;
    std::vector<Event> log;
    g_disk.log = &log;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(Change(*store_, model, random, &gone).ok());
    g_disk.calls = 0;
    g_disk.error = EIO;
    g_disk.fail_at = call;
    const absl::Status status = Scrub(*store_);
    const int calls = g_disk.calls;
    g_disk.fail_at = -1;
    ASSERT_EQ(status.ok(), calls <= call) << status;
    ASSERT_TRUE(store_->Check().ok());
    ASSERT_TRUE(Contents(*store_) == model);
    ASSERT_TRUE(Scrub(*store_).ok());
    g_disk.log = nullptr;
    for (const Event& event : log) disk.Pass(event);
    const Images left = Files(), durable = disk.Before(nullptr, 0, random);
    for (const std::string& value : gone) {
      EXPECT_FALSE(Holds(left, value)) << call;
      EXPECT_FALSE(Holds(durable, value)) << call;
    }
    if (status.ok()) break;
  }
}

// A state that is read while a commit fails stays as it is.
TEST_F(StorePowerTest, ReadersLiveThroughFailures) {
  Random random(4);
  Model model;
  std::vector<std::unique_ptr<StoreReader>> readers;
  std::vector<std::string> values;
  for (int i = 0; i < 8; ++i) {
    const std::string value = random.Bytes(50'000);
    const auto put = [&]() -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(const auto lock, store_->Lock(kLong));
      HEFT_ASSIGN_OR_RETURN(const auto writer, store_->Write(*lock));
      HEFT_RETURN_IF_ERROR(writer->Put(Table::kBlocks, AsBytes("a"), AsBytes(value)));
      g_disk.calls = 0;
      return writer->Commit();
    };
    ASSERT_TRUE(put().ok());
    if (i % 3 == 0) {
      readers.push_back(*store_->Read());
      values.push_back(value);
    }
    g_disk.error = EIO;
    g_disk.for_good = i % 2 == 0;
    g_disk.fail_at = i;
    EXPECT_EQ(put().code(), absl::StatusCode::kUnavailable) << i;
    g_disk.fail_at = -1;
    EXPECT_EQ(store_->Statistics()->readers, readers.size());
  }
  for (size_t i = 0; i < readers.size(); ++i) {
    const auto value = readers[i]->Get(Table::kBlocks, AsBytes("a"));
    ASSERT_TRUE(value.ok() && value->has_value());
    EXPECT_TRUE(std::ranges::equal(**value, AsBytes(values[i])));
  }
  readers.clear();
  EXPECT_EQ(store_->Statistics()->readers, 0);
}

// The system's own limit, which comes with a signal.
TEST_F(StorePowerTest, FilesMayNotBeThatLarge) {
  Random random(5);
  Model model;
  ASSERT_TRUE(Change(*store_, model, random).ok());
  const uint64_t size = Files().back().size();
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto put = [&]() -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(const auto lock, store_->Lock(kLong));
    HEFT_ASSIGN_OR_RETURN(const auto writer, store_->Write(*lock));
    HEFT_RETURN_IF_ERROR(
        writer->Put(Table::kBlocks, AsBytes("a"), std::vector<uint8_t>(3'000'000)));
    return writer->Commit();
  };
  for (const rlim_t more : {0, 1'000'000}) {
    rlimit limit = before;
    limit.rlim_cur = size + more;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const absl::Status status = put();
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(status.ToString(), ::testing::HasSubstr("ulimit -f"));
    EXPECT_TRUE(Contents(*store_) == model);
  }
  EXPECT_TRUE(put().ok());
  EXPECT_TRUE(store_->Check().ok());
  rlimit limit = before;
  limit.rlim_cur = 1'000'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const absl::Status copied = store_->Copy(folder_ / "copy", nullptr);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(copied.code(), absl::StatusCode::kUnavailable) << copied;
  EXPECT_FALSE(FileExists(folder_ / "copy"));
  EXPECT_TRUE(store_->Copy(folder_ / "copy", nullptr).ok());
}

}  // namespace
}  // namespace heft
