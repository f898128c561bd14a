// SPDX-License-Identifier: Apache-2.0
// Batch deduplication, the server's half: each of N against all. The job is cut into requests, a
// folder each, as clients have encrypted them; each bucket of the gallery (heft/shards.h) answers
// each of them once, from whatever machine, into a folder that the key owner empties
// (heft/duplicates.h). Nothing but encrypted scores leaves here, and nothing but decisions leaves
// the key owner. Whoever is killed goes on where he was. Link heft::server.
//
//   probes/000012/face.ct, voice.ct           a request: rows of people, labelled
//   exchange/000012.003/00000.ct, 00001.ct    bucket 3's replies, one a row: there whole or not
//   exchange/000012.done                      the key owner has recorded what came of them
#ifndef HEFT_DEDUPLICATE_H_
#define HEFT_DEDUPLICATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/gallery.h"
#include "heft/progress.h"
#include "heft/server.h"
#include "heft/shards.h"
#include "heft/trust.h"

namespace heft {

// DeduplicationFolders: what both halves see of the job; each on its own machine, what lies in them
// handed over by whatever means.
struct DeduplicationFolders {
  std::string probes;    // a folder a request
  std::string exchange;  // made if it is not there
};

// DeduplicationProgress: of all requests, and in this call.
struct DeduplicationProgress {
  uint64_t requests = 0;
  uint64_t done = 0;     // that the key owner has recorded
  uint64_t waiting = 0;  // that this half has done its part of, and the other one has not
  uint64_t now = 0;      // that this call did
  double seconds = 0;    // that it took for them
  // Of those that are left to this half, at the pace of this call; 0 where it did none.
  double seconds_left() const {
    const uint64_t left = requests - (done + waiting < requests ? done + waiting : requests);
    return now == 0 ? 0 : seconds / static_cast<double>(now) * static_cast<double>(left);
  }
};

// MatchJob: the buckets that this process answers for, by their numbers in `shards`, and how.
struct MatchJob {
  DeduplicationFolders folders;
  std::string gallery;  // FOLDER:NAME, of FOLDER:NAME.000 and the others
  const ShardList* shards = nullptr;
  std::vector<uint32_t> buckets = {};  // empty: all; each is one process's at a time
  const SigningKey* signer = nullptr;  // as of SignReply
  SignerKey audience{};
  uint64_t life = 7 * 86400;   // of the replies, in seconds: the key owner may be slow
  uint64_t most_waiting = 16;  // requests that lie in the exchange folder at once
};

// MatchEach: answers the requests that are neither done nor answered yet by these buckets, as many
// as may wait; call it again until all are done. A request whose files do not go together ends it
// with an error that names the folder. Errors of Server::IdentifyAll, OpenBucket; kCancelled.
HEFT_EXPORT absl::StatusOr<DeduplicationProgress> MatchEach(const Server& server,
                                                            const MatchJob& job,
                                                            const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_DEDUPLICATE_H_
