// SPDX-License-Identifier: Apache-2.0
// Batch deduplication: compares each of N people with all others, as an agency does once for all
// its enrolled people. The two halves are two roles on two machines, which exchange two folders.
// PROBES holds the client's encrypted probes, one folder for some hundred people; EXCHANGE holds
// encrypted scores and acknowledgements (heft/deduplicate.h). If a half is killed, start it again
// with the same arguments: it continues at the same place.
//
//   deduplicate match  MODEL KEYS STORE:NAME SHARDS PROBES EXCHANGE [BUCKET...]   (server)
//   deduplicate decide MODEL SECRET_KEY TRUST SHARDS PROBES EXCHANGE RECORD FPIR  (key owner)
//   deduplicate pairs  RECORD            prints who may be enrolled under two names
//
// A server links only heft::server, so it would take only the first half of this program.
#include "heft/deduplicate.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "examples/common.h"
#include "heft/files.h"
#include "heft/openings.h"
#include "heft/server.h"

// Calls a half until all requests are done, and says how far it is.
template <typename Half>
void Until(const Half& half) {
  using heft::DeduplicationProgress;
  for (;;) {
    const DeduplicationProgress at = Check(half());
    std::cerr << at.done << " of " << at.requests << " requests are done, " << at.waiting
              << " wait";
    if (at.seconds_left() > 0) std::cerr << ", some " << int(at.seconds_left()) << " s to go here";
    std::cerr << "\n";
    if (at.done == at.requests) return;
    if (at.now == 0) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

void Match(const std::vector<std::string>& args) {
  const heft::Model model = Check(heft::LoadModel(args[0]));
  const auto keys = Check(heft::ReadFile(args[1], heft::kMaxKeysSize));
  const auto made = Check(heft::ReadSigned(keys, args[1]));
  const auto server = Check(heft::Server::Create(model, made.file, args[1]));
  const auto shards = Check(heft::ShardList::Load(args[3]));
  const auto signer = Check(heft::GallerySigner(heft::BucketAddress(args[2], 0)));
  heft::MatchJob job = {{args[4], args[5]}, args[2], &shards};
  job.signer = &signer;
  job.audience = made.signer;  // the keys' owner, the only reader of the replies
  for (size_t i = 6; i < args.size(); ++i) {
    job.buckets.push_back(static_cast<uint32_t>(std::stoul(args[i])));
  }
  Until([&] { return heft::MatchEach(server, job); });
}

void Decide(const std::vector<std::string>& args) {
  const heft::Model model = Check(heft::LoadModel(args[0]));
  auto owner = Check(heft::KeyOwner::Load(model, args[1]));
  const absl::Status required = owner.RequireSigned(Check(heft::Trust::Load(args[2])));
  if (!required.ok()) Check(absl::StatusOr<int>(required));
  const auto shards = Check(heft::ShardList::Load(args[3]));
  heft::DecideJob job = {{args[4], args[5]}, &shards, {}, args[6]};
  job.rule.fpir = std::stod(args[7]);
  Until([&] { return heft::DecideEach(owner, job); });
}

int main(int argc, char** argv) {
  const std::string half = argc > 1 ? argv[1] : "";
  const std::vector<std::string> args(argv + std::min(argc, 2), argv + argc);
  if (half == "match" && args.size() >= 6) {
    Match(args);
  } else if (half == "decide" && args.size() == 8) {
    Decide(args);
  } else if (half == "pairs" && args.size() == 1) {
    const auto found = Check(heft::ReadDuplicates(args[0]));
    for (const auto& [one, other] : found.pairs) std::cout << one << "\t" << other << "\n";
    std::cerr << found.pairs.size() << " pairs of " << found.decided << " people, "
              << found.refused.size() << " refused\n";
  } else {
    std::cerr << "usage: at the top of examples/deduplicate.cc\n";
    return 2;
  }
  return 0;
}
