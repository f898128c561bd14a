// SPDX-License-Identifier: Apache-2.0
// What bench/gallery_bench.cc measures in: all roles in one folder, and a gallery of real
// encryptions, which can be measured again.
#ifndef HEFT_BENCH_GALLERY_WORLD_H_
#define HEFT_BENCH_GALLERY_WORLD_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/client.h"
#include "heft/key_owner.h"
#include "heft/server.h"
#include "nlohmann/json.hpp"

namespace heft::bench {

inline constexpr uint32_t kDimension = 512;
inline constexpr uint32_t kGamma = 32;

// Say: progress, on stderr.
void Say(const std::string& what);

struct World {
  Model model;
  KeyOwner owner;
  Client client;
  Server server;
  std::string folder, gallery;
};

// MakeWorld: a model and keys in a new folder. OpenWorld: those of one that MakeWorld made.
absl::StatusOr<World> MakeWorld(const std::string& folder);
absl::StatusOr<World> OpenWorld(const std::string& folder);

// Encrypt: the samples of a person, whose vectors follow from the number `person`. With `fused` the
// client fuses them.
absl::StatusOr<std::vector<SampleFile>> Encrypt(const World& world, uint64_t person,
                                                const std::string& label, SampleUse use,
                                                bool fused = false);

// Fill: one batch of people, fused; then so many templates of it, sixteen batches a
// change.
absl::Status Fill(const World& world, size_t templates, nlohmann::json* out);

}  // namespace heft::bench

#endif  // HEFT_BENCH_GALLERY_WORLD_H_
