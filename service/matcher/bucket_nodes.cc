// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/bucket_nodes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/identity.h"
#include "base/signed_file.h"
#include "base/status.h"
#include "heft/shards.h"
#include "service/json.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

// kRouterAnswers: within this time, or the map that is known is used.
constexpr std::chrono::seconds kRouterAnswers{2};
constexpr uint64_t kMaxMapBytes = 1 << 20;

constexpr std::string_view kMap =
    "SELECT b.bucket::bigint, g.buckets::bigint, b.gallery_id, n.name FROM heft_router.galleries g "
    "JOIN heft_router.buckets b ON b.gallery = g.name "
    "JOIN heft_router.nodes n ON n.number = b.node WHERE g.name = $1 ORDER BY b.bucket";
constexpr std::string_view kIdentify =
    "SELECT m.gallery, m.gallery_id, m.reply FROM heft.heft_identify_many("
    "heft.heft_bucket_names($1, $2::integer[]), $3, "
    "ARRAY(SELECT convert_from(c, 'UTF8') FROM unnest($4) WITH ORDINALITY u (c, n) ORDER BY n), "
    "$5 <> 0) m";
constexpr std::string_view kVerify =
    "SELECT heft.heft_verify(heft.heft_bucket_for($1, $2::integer, $3), $3, $4)";

std::string_view ColumnText(const std::optional<ByteSpan>& value) {
  if (!value) return {};
  return {reinterpret_cast<const char*>(value->data()), value->size()};
}

std::vector<std::optional<ByteSpan>> BytesOf(std::span<const SampleFile> files) {
  std::vector<std::optional<ByteSpan>> out;
  for (const SampleFile& file : files) out.emplace_back(file.bytes);
  return out;
}

// ConditionTexts: as SQL takes them. kInvalidArgument for a condition that has no such text.
absl::StatusOr<std::vector<std::string>> ConditionTexts(const std::vector<Condition>& where) {
  std::vector<std::string> texts;
  for (const Condition& condition : where) {
    texts.push_back(ConditionText(condition));
    const auto again = ParseCondition(texts.back());
    if (again.ok() && *again == condition) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "filter: \"", condition.key, "\": a gallery in buckets takes no values with | or .."));
  }
  return texts;
}

absl::Status Wrong(const std::string& node, std::string_view what) {
  return absl::InternalError(absl::StrCat("node ", node, ": ", std::string(what)));
}

// Shown: the error for the caller. What a connection says (hosts, users, paths) is for the log.
absl::Status Shown(const absl::Status& status) {
  if (!absl::IsUnavailable(status)) return status;
  const std::string why(status.message());
  LogLine(LogLevel::kError, "a node does not answer", {{"why", why}});
  return absl::UnavailableError(
      absl::StrCat(why.substr(0, why.find(": ")), " does not answer: try again later"));
}

}  // namespace

// Map: where the buckets of a gallery are.
struct BucketNodes::Map {
  struct Node {
    std::string name;
    std::vector<std::optional<int64_t>> buckets;
  };
  std::vector<std::string> ids;  // by bucket
  std::vector<Node> nodes;
  Clock::time_point read;
};

bool BucketNodes::Has(std::string_view gallery) const {
  return std::ranges::find(galleries_, gallery) != galleries_.end();
}

absl::StatusOr<BucketNodes::MapPointer> BucketNodes::ReadMap(const std::string& gallery,
                                                             Clock::time_point until) {
  const std::vector<NodeCall> call = {
      {router_, kMap, {std::string_view(gallery)}, /*columns=*/4, /*most_rows=*/kMaxBuckets}};
  HEFT_ASSIGN_OR_RETURN(const auto answers, nodes_.Ask(call, kMaxMapBytes, until));
  auto map = std::make_shared<Map>();
  map->read = Clock::now();
  for (const SqlRows& row : answers[0]) {
    HEFT_ASSIGN_OR_RETURN(const int64_t bucket, SqlInteger(row.at(0, 0)));
    HEFT_ASSIGN_OR_RETURN(const int64_t buckets, SqlInteger(row.at(0, 1)));
    if (bucket != static_cast<int64_t>(map->ids.size()) ||
        buckets != static_cast<int64_t>(answers[0].size())) {
      return absl::InternalError(
          absl::StrCat("the router's map of \"", gallery,
                       "\" lacks a bucket: restore heft_router.buckets from a backup"));
    }
    map->ids.emplace_back(ColumnText(row.at(0, 2)));
    const std::string_view name = ColumnText(row.at(0, 3));
    auto node = std::ranges::find(map->nodes, name, &Map::Node::name);
    if (node == map->nodes.end()) node = map->nodes.insert(node, {std::string(name), {}});
    node->buckets.emplace_back(bucket);
  }
  if (!map->ids.empty()) return map;
  return absl::NotFoundError(absl::StrCat(
      "there is no gallery \"", gallery, "\" in the router's map, or not for this service's role"));
}

absl::StatusOr<BucketNodes::MapPointer> BucketNodes::MapOf(const std::string& gallery, bool fresh,
                                                           Clock::time_point until) {
  MapPointer known;
  {
    const std::lock_guard lock(mutex_);
    MapPointer& its = maps_[gallery];
    known = its;
    if (known != nullptr && !fresh) {
      if (Clock::now() < known->read + map_life_) return known;
      // The others use the known map while this thread reads the new one.
      auto kept = std::make_shared<Map>(*known);
      kept->read = Clock::now();
      its = std::move(kept);
    }
  }
  const bool usable = known != nullptr && !fresh;
  auto map = ReadMap(gallery, std::min(until, Clock::now() + kRouterAnswers));
  // The nodes answer although the router is away.
  if (usable && (absl::IsUnavailable(map.status()) || absl::IsDeadlineExceeded(map.status()))) {
    return known;
  }
  HEFT_RETURN_IF_ERROR(map.status());
  const std::lock_guard lock(mutex_);
  maps_[gallery] = *map;
  return map;
}

absl::StatusOr<BucketReplies> BucketNodes::Asked(const std::string& gallery,
                                                 std::span<const SampleFile> files,
                                                 Clock::time_point until, const Ask& ask) {
  auto map = MapOf(gallery, /*fresh=*/false, until);
  if (!map.ok()) return Shown(map.status());
  auto out = ask(**map);
  if (absl::IsAborted(out.status())) {  // a bucket that was moved
    map = MapOf(gallery, /*fresh=*/true, until);
    if (!map.ok()) return Shown(map.status());
    if (std::ranges::any_of(files, [](const SampleFile& f) { return IsSigned(f.bytes); })) {
      return absl::UnavailableError("a bucket has just been moved: sign a new request");
    }
    out = ask(**map);
  }
  if (absl::IsAborted(out.status())) return absl::UnavailableError(out.status().message());
  if (!out.ok()) return Shown(out.status());
  return out;
}

absl::StatusOr<BucketReplies> BucketNodes::Identify(const std::string& gallery,
                                                    const ProbeRequest& probe,
                                                    Clock::time_point until) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> where, ConditionTexts(probe.options.where));
  std::vector<std::optional<ByteSpan>> conditions;
  for (const std::string& text : where) conditions.emplace_back(AsBytes(text));
  const std::vector<std::optional<ByteSpan>> files = BytesOf(probe.files);
  return Asked(gallery, probe.files, until, [&](const Map& map) -> absl::StatusOr<BucketReplies> {
    std::vector<NodeCall> calls;
    for (const Map::Node& node : map.nodes) {
      calls.push_back(
          {node.name,
           kIdentify,
           {std::string_view(gallery), SqlIntegerArray(node.buckets), SqlBytesArray(files),
            SqlBytesArray(conditions), int64_t{probe.options.with_identities}},
           /*columns=*/3,
           node.buckets.size()});
    }
    HEFT_ASSIGN_OR_RETURN(auto answers, nodes_.Ask(calls, kMaxReplies, until));
    BucketReplies out;
    out.rows.resize(map.ids.size());
    for (size_t n = 0; n < answers.size(); ++n) {
      const Map::Node& node = map.nodes[n];
      if (answers[n].size() != node.buckets.size()) {
        return Wrong(node.name, absl::StrCat(answers[n].size(), " answers, for ",
                                             node.buckets.size(), " buckets"));
      }
      for (size_t i = 0; i < answers[n].size(); ++i) {
        const SqlRows& row = answers[n][i];
        const auto bucket = static_cast<uint32_t>(*node.buckets[i]);
        if (ColumnText(row.at(0, 0)) != BucketAddress(gallery, bucket) ||
            ColumnText(row.at(0, 1)) != map.ids[bucket] || ColumnText(row.at(0, 2)).empty()) {
          return Wrong(node.name, absl::StrCat("another gallery answers for bucket ", bucket));
        }
        out.rows[bucket] = std::move(answers[n][i]);
      }
    }
    for (const SqlRows& row : out.rows) out.replies.push_back(*row.at(0, 2));
    return out;
  });
}

absl::StatusOr<BucketReplies> BucketNodes::Verify(const std::string& gallery,
                                                  const std::string& person,
                                                  std::span<const SampleFile> files,
                                                  Clock::time_point until) {
  HEFT_RETURN_IF_ERROR(CheckIdentity(person));
  const std::vector<std::optional<ByteSpan>> sent = BytesOf(files);
  return Asked(gallery, files, until, [&](const Map& map) -> absl::StatusOr<BucketReplies> {
    const uint32_t bucket = BucketOf(person, static_cast<uint32_t>(map.ids.size()));
    const auto node = std::ranges::find_if(map.nodes, [&](const Map::Node& one) {
      return std::ranges::count(one.buckets, std::optional<int64_t>(bucket)) > 0;
    });
    const std::vector<NodeCall> calls = {{node->name,
                                          kVerify,
                                          {std::string_view(gallery), int64_t{bucket},
                                           std::string_view(person), SqlBytesArray(sent)},
                                          /*columns=*/1,
                                          /*most_rows=*/1}};
    HEFT_ASSIGN_OR_RETURN(auto answers, nodes_.Ask(calls, kMaxReplies, until));
    if (answers[0].size() != 1 || ColumnText(answers[0][0].at(0, 0)).empty()) {
      return Wrong(node->name, "no answer for the person's bucket");
    }
    BucketReplies out;
    out.rows = std::move(answers[0]);
    out.replies.push_back(*out.rows[0].at(0, 0));
    return out;
  });
}

}  // namespace heft::service
