// SPDX-License-Identifier: Apache-2.0
#include "heft/shards.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/identity.h"
#include "base/status.h"
#include "heft/files.h"

namespace heft {
namespace {

constexpr int kShardListVersion = 1;
constexpr uint64_t kMaxShardListSize = 1 << 20;

absl::Status BadShardList(std::string_view what, std::string_view why) {
  return absl::DataLossError(absl::StrCat(
      std::string(what), ": no shard list: ", std::string(why),
      ". Get it again from the server that made the gallery, and do not change it by hand"));
}

}  // namespace

uint32_t BucketOf(std::string_view identity, uint32_t buckets) {
  // An invalid name has a bucket too; enrolment refuses it elsewhere.
  const auto normal = NormalIdentity(identity);
  const Hash hash = HashBytes(AsBytes(normal.ok() ? std::string_view(*normal) : identity));
  ByteReader reader(hash, "a hash");
  return static_cast<uint32_t>(reader.U64() % std::max<uint32_t>(buckets, 1));
}

std::string BucketAddress(std::string_view gallery, uint32_t bucket) {
  return absl::StrFormat("%s.%03d", gallery, bucket);
}

absl::StatusOr<ShardList> ShardList::Make(std::string gallery, std::vector<GalleryId> buckets) {
  HEFT_RETURN_IF_ERROR(CheckIdentity(gallery));
  if (buckets.empty() || buckets.size() > kMaxBuckets) {
    return absl::InvalidArgumentError(
        absl::StrCat("a gallery has 1 to ", kMaxBuckets, " buckets, not ", buckets.size()));
  }
  std::set<GalleryId> seen;
  for (size_t i = 0; i < buckets.size(); ++i) {
    if (buckets[i] == GalleryId{}) {
      return absl::InvalidArgumentError(absl::StrCat("bucket ", i, " has an id of zeros"));
    }
    if (seen.insert(buckets[i]).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("bucket ", i, " is listed twice, gallery ", HexString(buckets[i])));
  }
  return ShardList(std::move(gallery), std::move(buckets));
}

absl::StatusOr<ShardList> ShardList::Parse(std::string_view text, std::string_view what) {
  const auto json = Json::Parse(text, /*max_depth=*/8);
  if (!json.ok() || !json->is_object()) return BadShardList(what, "not a JSON object");
  const Json* const version = json->find("heft_shards");
  if (version == nullptr || *version != Json(kShardListVersion)) {
    return BadShardList(what, "of another version, or none");
  }
  std::string gallery;
  uint64_t count = 0;
  std::vector<GalleryId> buckets;
  for (const auto& [name, value] : json->members()) {
    if (name == "heft_shards") continue;
    if (name == "gallery") {
      gallery = value.get<std::string>();
    } else if (name == "count" && value.is_number_unsigned()) {
      count = value.get<uint64_t>();
    } else if (name == "buckets" && value.is_array()) {
      for (const Json& id : value) {
        const auto parsed = ParseGalleryId(id.get<std::string>());
        if (!parsed.ok()) return BadShardList(what, std::string(parsed.status().message()));
        buckets.push_back(*parsed);
      }
    } else {
      // An unknown member could describe another division of people.
      return BadShardList(
          what, absl::StrCat("a member \"", name, "\" that is unknown, or of another type"));
    }
  }
  // A missing id would move everybody to other buckets.
  if (count != buckets.size()) {
    return BadShardList(what,
                        absl::StrCat("it counts ", count, " buckets but names ", buckets.size()));
  }
  auto list = Make(std::move(gallery), std::move(buckets));
  return list.ok() ? std::move(list) : BadShardList(what, std::string(list.status().message()));
}

absl::StatusOr<ShardList> ShardList::Load(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxShardListSize));
  return Parse(text, path);
}

std::string ShardList::Serialize() const {
  Json json = {{"heft_shards", kShardListVersion}, {"gallery", gallery_}, {"count", size()}};
  json["buckets"] = Json::array();
  for (const GalleryId& id : buckets_) json["buckets"].push_back(HexString(id));
  return json.dump(2) + "\n";
}

absl::Status ShardList::Save(const std::string& path) const {
  return WriteFileAtomic(path, Serialize());
}

GalleryId ShardList::Id() const {
  std::vector<uint8_t> bytes;
  for (const GalleryId& id : buckets_) bytes.insert(bytes.end(), id.begin(), id.end());
  const Hash hash = HashBytes(bytes);
  GalleryId whole;
  std::copy_n(hash.begin(), whole.size(), whole.begin());
  return whole;
}

std::optional<uint32_t> ShardList::Find(const GalleryId& id) const {
  const auto found = std::ranges::find(buckets_, id);
  if (found == buckets_.end()) return std::nullopt;
  return static_cast<uint32_t>(found - buckets_.begin());
}

}  // namespace heft
