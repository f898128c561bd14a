// SPDX-License-Identifier: Apache-2.0
// A bit of any record of a gallery is flipped: `verify` reports it each time, and the work of other
// people goes on. HEFT_FLIPS: how many flips (45).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gallery/change.h"
#include "heft/gallery_admin.h"
#include "matcher/server_impl.h"
#include "owner/varied_gallery_testing.h"

namespace heft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A record of a store, and which bit of its key or value is flipped.
struct Flip {
  Table table = Table::kHead;
  StoreKey key;
  bool in_key = false;
  size_t bit = 0;
};

std::vector<uint8_t> Flipped(ByteSpan bytes, size_t bit) {
  std::vector<uint8_t> out(bytes.begin(), bytes.end());
  out[bit / 8 % out.size()] ^= static_cast<uint8_t>(1 << bit % 8);
  return out;
}

class FlipsTest : public testing::VariedGalleryTest {
 protected:
  void SetUp() override {
    VariedGalleryTest::SetUp();
    const Gallery::Impl gallery = *Gallery::Impl::Open(folder_);
    ASSERT_EQ(gallery.blocks(), 2u);
    ASSERT_EQ(gallery.pending(), 2u);
    const auto reader = *gallery.store()->Read();
    for (size_t t = 0; t < kTables; ++t) {
      const Table table = static_cast<Table>(t);
      ASSERT_TRUE(reader
                      ->Scan(table, {},
                             [&](ByteSpan key, ByteSpan) {
                               records_[table].emplace_back(key.begin(), key.end());
                               return true;
                             })
                      .ok());
    }
    ASSERT_EQ(records_.size(), kTables) << "a record of each kind";
    for (uint64_t at = 0; at < gallery.places(); ++at) {
      const Resident r = *gallery.At(at);
      if (r.state != PlaceState::kLive) continue;
      const size_t block = at / gallery.head().block_places;
      people_[r.identity] = {block, r.entry};
      name_keys_[HexString(NameKey(gallery.number(), gallery.id(), r.identity))] = r.identity;
    }
  }

  // The people whose own record it is.
  std::set<std::string> Touched(const Flip& flip) const {
    std::set<std::string> touched;
    for (const auto& [name, person] : people_) {
      const bool block = flip.table == Table::kBlocks && NumberOf(flip.key) == person.block;
      const bool entry = flip.table == Table::kJournal && NumberOf(flip.key) == person.entry;
      if (block || entry) touched.insert(name);
    }
    const auto named = name_keys_.find(HexString(flip.key));
    if (flip.table == Table::kNames && named != name_keys_.end()) touched.insert(named->second);
    return touched;
  }

  void Apply(const std::string& folder, const Flip& flip) const {
    const auto store = *OpenStore(folder, StoreMode::kWrite);
    const auto lock = *store->Lock(absl::Seconds(1));
    const auto writer = *store->Write(*lock);
    const auto value = *writer->Get(flip.table, flip.key);
    ASSERT_TRUE(value);
    const std::vector<uint8_t> bytes(value->begin(), value->end());
    if (flip.in_key) {
      ASSERT_TRUE(writer->Delete(flip.table, flip.key).ok());
      ASSERT_TRUE(writer->Put(flip.table, Flipped(flip.key, flip.bit), bytes).ok());
    } else {
      ASSERT_TRUE(writer->Put(flip.table, flip.key, Flipped(bytes, flip.bit)).ok());
    }
    ASSERT_TRUE(writer->Commit().ok());
  }

  // Moves the first of these records that has room in the gallery of this number; no key: none has.
  static Flip Move(const std::string& folder, Table table, const std::vector<StoreKey>& keys,
                   uint32_t number) {
    const auto store = *OpenStore(folder, StoreMode::kWrite);
    const auto lock = *store->Lock(absl::Seconds(1));
    const auto writer = *store->Write(*lock);
    for (const StoreKey& key : keys) {
      StoreKey to = HeadKey(number);
      to.insert(to.end(), key.begin() + to.size(), key.end());
      if (key[0] != 0 || *writer->Get(table, to)) continue;  // a copy, or taken
      const auto value = *writer->Get(table, key);
      const std::vector<uint8_t> bytes(value->begin(), value->end());
      EXPECT_TRUE(writer->Delete(table, key).ok());
      EXPECT_TRUE(writer->Put(table, to, bytes).ok());
      EXPECT_TRUE(writer->Commit().ok());
      return {table, key, true, 0};
    }
    return {};
  }

  Flip Draw(Table table, std::mt19937_64& random) const {
    Flip flip;
    flip.table = table;
    const auto& keys = records_.at(flip.table);
    flip.key = keys[random() % keys.size()];
    flip.in_key = random() % 4 == 0;
    flip.bit = random() % (uint64_t{1} << 40);
    return flip;
  }

  // A person of these that the flip does not touch.
  static std::string Other(const std::vector<std::string>& of,
                           const std::set<std::string>& touched) {
    for (const std::string& name : of) {
      if (!touched.contains(name)) return name;
    }
    return {};
  }

  // Everything that other people may want. Errors say what stopped.
  absl::Status Work(const std::string& folder, const std::set<std::string>& touched) {
    const KeyOwner owner = roles_.NewOwner();
    for (const std::vector<std::string>& some :
         std::vector<std::vector<std::string>>{{"ann", "abe"}, {"bob", "ben"}, {"cat", "cal"}}) {
      const std::string who = Other(some, touched);
      if (who.empty()) continue;
      HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(folder));
      HEFT_ASSIGN_OR_RETURN(
          const auto reply,
          server_->Identify(gallery, Files(Number(who), "", SampleUse::kIdentification)));
      HEFT_ASSIGN_OR_RETURN(const Decision decision, owner.Decide(reply, "reply", 0.9));
      if (decision.identity != who) return absl::InternalError(who + " is not found");
    }
    HEFT_RETURN_IF_ERROR(server_->Enrol(folder, Files(Number("new"), "new")).status());
    HEFT_ASSIGN_OR_RETURN(const ActivateResult approved,
                          testing::ActivateAll(*server_, owner, folder));
    if (approved.activated == 0) return absl::InternalError("nobody was approved");
    HEFT_ASSIGN_OR_RETURN(const PersonInfo newcomer, DescribePerson(folder, "new"));
    if (newcomer.templates.size() != 1) return absl::InternalError("the new one is not in");
    const std::string gone = Other({"bob", "ben", "abe"}, touched);
    HEFT_ASSIGN_OR_RETURN(const RemoveResult removed, Remove(*server_, folder, {gone}));
    if (removed.removed != 1) return absl::InternalError(gone + " was not removed");
    return CompactGallery(*server_, folder).status();
  }

  struct Standing {
    size_t block = 0;
    uint64_t entry = 0;
  };
  std::map<std::string, Standing> people_;
  std::map<std::string, std::string> name_keys_;  // by keys
  std::map<Table, std::vector<StoreKey>> records_;
};

TEST_P(FlipsTest, NobodyElseIsStopped) {
  const char* given = std::getenv("HEFT_FLIPS");
  const size_t flips = given == nullptr ? 45 : std::strtoul(given, nullptr, 10);
  std::mt19937_64 random(36);
  size_t unseen = 0, stopped = 0, intact_after = 0;
  std::map<std::string, size_t> by_table;
  for (size_t i = 0; i < flips; ++i) {
    const Flip flip = Draw(static_cast<Table>(i % kTables), random);
    const std::string what =
        absl::StrCat("flip ", i, ": table ", std::string(TableName(flip.table)),
                     flip.in_key ? ", key, bit " : ", value, bit ", flip.bit);
    const std::string folder = temporary_ / absl::StrCat("flip-", i);
    fs::copy(folder_, folder);
    Apply(folder, flip);
    const auto verified = VerifyGallery(folder);
    const bool seen = verified.ok() && !verified->intact;
    unseen += seen ? 0 : 1;
    EXPECT_TRUE(seen) << what << ": " << verified.status();
    const absl::Status work = Work(folder, Touched(flip));
    stopped += work.ok() ? 0 : 1;
    EXPECT_TRUE(work.ok()) << what << ": " << work;
    const auto after = VerifyGallery(folder);
    intact_after += after.ok() && after->intact ? 1 : 0;
    ++by_table[std::string(TableName(flip.table))];
    fs::remove_all(folder);
  }
  for (const auto& [table, count] : by_table)
    RecordProperty("flips_" + table, std::to_string(count));
  std::cout << flips << " flips: " << unseen << " not reported, " << stopped
            << " stopped somebody else, " << intact_after << " mended by compact\n";
}

// Long values are in store.blocks, each behind its length. A flip there damages the record.
TEST_P(FlipsTest, OfALengthInTheFileOfBlocks) {
  constexpr uint64_t kPageBytes = 4096, kHeader = 16;
  std::mt19937_64 random(37);
  const std::vector<uint8_t> good = *ReadFile(folder_ + "/store.blocks");
  size_t lengths = 0, seen = 0;
  for (uint64_t at = kPageBytes; at < good.size();) {
    uint64_t length = 0;
    std::memcpy(&length, good.data() + at, sizeof(length));
    if (length == 0) {  // a page without a value
      at += kPageBytes;
      continue;
    }
    const std::string folder = temporary_ / absl::StrCat("length-", lengths++);
    const std::string what = absl::StrCat("the length at ", at);
    fs::copy(folder_, folder);
    std::vector<uint8_t> bad = good;
    const uint64_t bit = random() % (8 * kHeader);
    bad[at + bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    ASSERT_TRUE(WriteFileAtomic(folder + "/store.blocks", bad, 0600).ok());
    const auto verified = VerifyGallery(folder);
    ASSERT_TRUE(verified.ok()) << what << ": " << verified.status();
    seen += verified->intact ? 0 : 1;  // deleted values lie in the file, too
    const auto enrolled = server_->Enrol(folder, Files(Number("new"), "new"));
    EXPECT_TRUE(enrolled.ok()) << what << ": " << enrolled.status();
    const auto identified = server_->Identify(*Gallery::Open(folder),
                                              Files(Number("new"), "", SampleUse::kIdentification));
    EXPECT_TRUE(identified.ok()) << what << ": " << identified.status();
    const auto compacted = CompactGallery(*server_, folder);
    EXPECT_TRUE(compacted.ok()) << what << ": " << compacted.status();
    fs::remove_all(folder);
    at += (kHeader + length + kPageBytes - 1) / kPageBytes * kPageBytes;
  }
  EXPECT_GE(seen, 4u) << "of " << lengths;
}

// A flip in the number of a record's gallery makes it a record of another gallery of the store: it
// is damaged there, and neither gallery uses it.
TEST_P(FlipsTest, OfAGallerysNumberToThatOfAnotherGallery) {
  const uint32_t own = Gallery::Impl::Open(folder_)->number();
  uint32_t number = own;
  for (const std::string& other : {folder_ + ":second", folder_ + ":other"}) {
    const auto enrolled = testing::EnrolNow(*server_, *owner_, other, Files(Number("zed"), "zed"));
    ASSERT_TRUE(enrolled.ok()) << enrolled.status();
    number = Gallery::Impl::Open(other)->number();
  }
  ASSERT_EQ(std::popcount(own ^ number), 1);
  size_t moved = 0;
  for (const auto& [table, keys] : records_) {
    if (table == Table::kCatalog || table == Table::kBlocks) continue;
    const std::string what(TableName(table));
    const std::string folder = temporary_ / absl::StrCat("moved-", what);
    fs::copy(folder_, folder);
    const Flip flip = Move(folder, table, keys, number);
    if (!flip.key.empty()) {
      ++moved;
      const auto here = VerifyGallery(folder), there = VerifyGallery(folder + ":other");
      ASSERT_TRUE(here.ok() && there.ok()) << what << here.status() << there.status();
      EXPECT_FALSE(there->intact) << what;
      const auto reply = server_->Identify(*Gallery::Open(folder + ":other"),
                                           Files(Number("zed"), "", SampleUse::kIdentification));
      ASSERT_TRUE(reply.ok()) << what << reply.status();
      EXPECT_EQ(roles_.NewOwner().Decide(*reply, "reply", 0.9)->identity, "zed") << what;
      ASSERT_TRUE(server_->Enrol(folder + ":other", Files(Number("new"), "new")).ok()) << what;
      const auto mended = CompactGallery(*server_, folder + ":other");
      ASSERT_TRUE(mended.ok()) << what << ": " << mended.status();
      const auto after = VerifyGallery(folder + ":other");
      EXPECT_TRUE(after.ok() && after->intact) << what << ": " << after.status();
      const absl::Status work = Work(folder, Touched(flip));
      EXPECT_TRUE(work.ok()) << what << ": " << work;
    }
    fs::remove_all(folder);
  }
  EXPECT_GE(moved, 10u) << "of " << kTables << " kinds of records";
}

INSTANTIATE_TEST_SUITE_P(Profiles, FlipsTest, ::testing::Values("standard"));

}  // namespace
}  // namespace heft
