// SPDX-License-Identifier: Apache-2.0
#include "heft/shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/testing.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

// From Python's hashlib: int.from_bytes(sha256(name).digest()[:8], "little").
TEST(ShardsTest, BucketsAreThoseOfTheHash) {
  const struct {
    std::string name;
    uint64_t hash;
  } known[] = {{"ann", 3332746724721463625u},
               {"bob", 15764519529058121345u},
               {"Zo\xc3\xab", 1207298232668299718u},
               {std::string(255, 'a'), 9992709643932201904u}};
  for (const auto& [name, hash] : known) {
    for (const uint32_t buckets : {1u, 2u, 7u, 8u, 256u, 1000u}) {
      EXPECT_EQ(BucketOf(name, buckets), hash % buckets) << name << " of " << buckets;
    }
  }
  EXPECT_EQ(BucketOf("ann", 8), 1u);
  EXPECT_EQ(BucketOf("bob", 8), 1u);
  EXPECT_EQ(BucketOf("Zo\xc3\xab", 8), 6u);
}

TEST(ShardsTest, PeopleAreSpreadEvenly) {
  std::vector<int> people(8);
  for (int i = 0; i < 80000; ++i) ++people[BucketOf("person-" + std::to_string(i), 8)];
  // Five standard deviations of a binomial, sqrt(80000 / 8 * 7 / 8) = 94.
  for (const int count : people) EXPECT_NEAR(count, 10000, 470);
}

TEST(ShardsTest, BucketsHaveTheNamesOfGalleries) {
  EXPECT_EQ(BucketAddress("people", 7), "people.007");
  EXPECT_EQ(BucketAddress("store:people", 999), "store:people.999");
}

TEST(ShardsTest, ReadsWhatItWrites) {
  const auto list = ShardList::Make("people", {{1}, {3}, {2}});
  ASSERT_TRUE(list.ok()) << list.status();
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(list->Save(folder / "people.shards").ok());
  const auto read = ShardList::Load(folder / "people.shards");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, *list);
  EXPECT_EQ(read->gallery(), "people");
  EXPECT_EQ(read->Find({3}), 1u);
  EXPECT_EQ(read->Find({9}), std::nullopt);
  EXPECT_EQ(read->BucketOf("ann"), BucketOf("ann", 3));
  // From Python's hashlib: sha256(b"".join(ids)).hexdigest()[:32].
  EXPECT_EQ(HexString(read->Id()), "b7ecb2ca55a12846f8b53c54adf0f5e8");
}

TEST(ShardsTest, RefusesWhatIsNoDivision) {
  EXPECT_THAT(ShardList::Make("people", {}).status().message(), HasSubstr("1 to 1000"));
  EXPECT_THAT(ShardList::Make("people", {{1}, {2}, {1}}).status().message(), HasSubstr("twice"));
  EXPECT_THAT(ShardList::Make("people", {{1}, {}}).status().message(), HasSubstr("zeros"));
  EXPECT_FALSE(ShardList::Make("", {{1}}).ok());
  EXPECT_FALSE(ShardList::Make("people", std::vector<GalleryId>(kMaxBuckets + 1)).ok());
}

TEST(ShardsTest, RefusesOtherText) {
  const std::string one = R"("00000000000000000000000000000001")";
  const std::string two = R"("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")";
  const auto text = [&](const std::string& count, const std::string& ids, const std::string& more) {
    return R"({"heft_shards": 1, "gallery": "people", "count": )" + count + R"(, "buckets": [)" +
           ids + "]" + more + "}";
  };
  ASSERT_TRUE(ShardList::Parse(text("2", one + "," + two, ""), "list").ok());
  for (const std::string& bad : std::vector<std::string>{
           "", "[]", "{}", R"({"heft_shards": 1})", R"({"heft_shards": 2, "gallery": "people"})",
           text("2", one, ""), text("1", one + "," + two, ""), text("-1", one, ""),
           text("\"1\"", one, ""), text("2", one + "," + one, ""), text("0", "", ""),
           text("1", "\"xy\"", ""), text("1", "7", ""), text("1", one, R"(, "hash": "other")"),
           text("1", one, R"(, "gallery": "")")}) {
    const auto read = ShardList::Parse(bad, "list");
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << bad;
    EXPECT_THAT(read.status().message(), HasSubstr("list: no shard list")) << bad;
  }
}

}  // namespace
}  // namespace heft
