// SPDX-License-Identifier: Apache-2.0
// Batch deduplication, the server's part: matches each of N people against all. The job is divided
// into requests, one folder each, as clients encrypted them. Each bucket of the gallery
// (heft/shards.h) answers each request once, on any machine, into a folder that the key owner's
// part empties (heft/openings.h). Only encrypted scores leave the server, and only decisions
// leave the key owner. A process that was killed continues where it stopped. Link heft::server.
//
//   probes/000012/face.ct, voice.ct           a request: rows of people, labelled
//   exchange/000012.003/00000.ct, 00001.ct    bucket 3's replies, one a row: complete or not there
//   exchange/000012.done                      the key owner has recorded the decisions
#ifndef HEFT_DEDUPLICATE_H_
#define HEFT_DEDUPLICATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/gallery.h"
#include "heft/server.h"
#include "heft/shards.h"
#include "heft/trust.h"

namespace heft {

// DeduplicationFolders: the folders that both parts use. On different machines, their contents must
// be copied by other means.
struct DeduplicationFolders {
  std::string probes;    // one folder for each request
  std::string exchange;  // created if it does not exist
};

// DeduplicationProgress: counts of requests.
struct DeduplicationProgress {
  uint64_t requests = 0;
  uint64_t done = 0;     // recorded by the key owner
  uint64_t waiting = 0;  // done by this part, but not by the other one
  uint64_t now = 0;      // done by this call
  double seconds = 0;    // duration of this call
  // Time for the requests left to this part at the pace of this call; 0 if it did none.
  double seconds_left() const {
    const uint64_t left = requests - (done + waiting < requests ? done + waiting : requests);
    return now == 0 ? 0 : seconds / static_cast<double>(now) * static_cast<double>(left);
  }
};

// MatchJob: the buckets that this process matches, by their numbers in `shards`, and its options.
struct MatchJob {
  DeduplicationFolders folders;
  std::string gallery;  // FOLDER:NAME, of FOLDER:NAME.000 and the others
  const ShardList* shards = nullptr;
  std::vector<uint32_t> buckets = {};  // empty: all; one process at a time for each bucket
  const SigningKey* signer = nullptr;  // as in SignReply
  SignerKey audience{};
  uint64_t life = 7 * 86400;  // validity of replies in seconds: the key owner may be slow
  uint64_t max_pending = 16;  // requests in the exchange folder at once
};

// MatchEach: answers requests that these buckets have not answered yet, up to `max_pending`. Call
// it again until all are done. A request whose files do not belong together ends the call with an
// error that names the folder. Errors of Server::IdentifyAll, OpenBucket; kCancelled.
HEFT_EXPORT absl::StatusOr<DeduplicationProgress> MatchEach(const Server& server,
                                                            const MatchJob& job,
                                                            const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_DEDUPLICATE_H_
