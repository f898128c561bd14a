// SPDX-License-Identifier: Apache-2.0
// BucketNodes: galleries in buckets on several databases (docs/scale.md). The router's database
// says which node has which bucket. The matcher asks the nodes itself, all at once, and each signs
// the replies of its buckets. A node's address is the service of its name in the matcher's own
// pg_service.conf, so a router cannot lead the matcher and its password elsewhere.
#ifndef HEFT_SERVICE_MATCHER_BUCKET_NODES_H_
#define HEFT_SERVICE_MATCHER_BUCKET_NODES_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/gallery.h"
#include "heft/server.h"
#include "postgres/node_calls.h"
#include "postgres/sql_session.h"

namespace heft::service {

// BucketReplies: the signed replies, in the order of the buckets, as views of `rows`.
struct BucketReplies {
  std::vector<std::span<const uint8_t>> replies;
  std::vector<SqlRows> rows;
};

class BucketNodes {
 public:
  using Clock = std::chrono::steady_clock;
  // kMaxReplies: bytes of all replies to one probe. In a form the decider takes no more.
  static constexpr uint64_t kMaxReplies = (uint64_t{1} << 30) - (uint64_t{1} << 20);
  // kMapLife: a moved bucket is noticed at once, by its old node's refusal.
  static constexpr std::chrono::milliseconds kMapLife{10000};

  // `router`: the service of the router's database. `map_life`: how long a map is used without a
  // look at the router's.
  BucketNodes(std::string router, std::vector<std::string> galleries,
              std::chrono::milliseconds map_life = kMapLife)
      : router_(std::move(router)), galleries_(std::move(galleries)), map_life_(map_life) {}
  BucketNodes(const BucketNodes&) = delete;
  BucketNodes& operator=(const BucketNodes&) = delete;

  // Has: whether this gallery is one of those in buckets.
  bool Has(std::string_view gallery) const;
  // Identify: one reply of each bucket. Verify: the reply of the person's bucket. A part is never
  // returned: kUnavailable if a node does not answer or a bucket is not where the map says,
  // kInternal if a node answers with something else. Otherwise errors of NodeCalls::Ask. Any number
  // of threads. After a refusal by a bucket's old node the map is read again. Nodes take a signed
  // file once, so only a request without signatures is repeated then.
  absl::StatusOr<BucketReplies> Identify(const std::string& gallery, const ProbeRequest& probe,
                                         Clock::time_point until);
  absl::StatusOr<BucketReplies> Verify(const std::string& gallery, const std::string& person,
                                       std::span<const SampleFile> files, Clock::time_point until);

 private:
  struct Map;
  using MapPointer = std::shared_ptr<const Map>;
  using Ask = std::function<absl::StatusOr<BucketReplies>(const Map&)>;
  absl::StatusOr<MapPointer> MapOf(const std::string& gallery, bool fresh, Clock::time_point until);
  absl::StatusOr<MapPointer> ReadMap(const std::string& gallery, Clock::time_point until);
  absl::StatusOr<BucketReplies> Asked(const std::string& gallery, std::span<const SampleFile> files,
                                      Clock::time_point until, const Ask& ask);

  const std::string router_;
  const std::vector<std::string> galleries_;
  const std::chrono::milliseconds map_life_;
  NodeCalls nodes_;   // and the router
  std::mutex mutex_;  // of maps_
  std::map<std::string, MapPointer, std::less<>> maps_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_BUCKET_NODES_H_
