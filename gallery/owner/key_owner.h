// SPDX-License-Identifier: Apache-2.0
// KeyOwner: opens encrypted scores. What leaves it is rounded and restricted to the slots that
// answer the question; raw slots, which carry the noise of the ciphertext, never do (SECURITY.md).
#ifndef HEFT_GALLERY_OWNER_KEY_OWNER_H_
#define HEFT_GALLERY_OWNER_KEY_OWNER_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/owner/secret_key.h"
#include "fusion/model.h"
#include "fusion/plan.h"
#include "gallery/scores.h"

namespace heft {

// Published scores are multiples of this.
inline constexpr double kScoreStep = 1e-3;
double RoundScore(double score);

// An identity with its best score over its templates.
struct Candidate {
  std::string identity;
  double score = 0;        // cosine, rounded to kScoreStep
  uint32_t templates = 0;  // of this identity
};

struct OpenedScores {
  ScoreKind kind = ScoreKind::kIdentification;
  std::string probe;
  std::string claimed;
  std::vector<Candidate> candidates;  // best first
  // Where the reply carries |z|^2: whether it lies in the approximation's interval. Outside of it
  // scores are wrong.
  std::optional<bool> in_interval;
};

class KeyOwner {
 public:
  static absl::StatusOr<KeyOwner> Create(const Model& model, ckks::SecretKey key);

  const ckks::SecretKey& key() const { return key_; }
  const Instance& instance() const { return instance_; }

  // kFailedPrecondition for scores under another key, model or parameters.
  absl::StatusOr<OpenedScores> Open(ByteSpan scores, std::string_view what) const;

 private:
  // Raw slots, for Open alone: to be wiped by the caller.
  std::vector<ckks::Complex> OpenSlots(const ckks::Ciphertext& ciphertext) const;

  KeyOwner(const Model& model, Instance instance, ckks::SecretKey key)
      : model_(model), instance_(std::move(instance)), key_(std::move(key)) {}

  Model model_;
  Instance instance_;
  ckks::SecretKey key_;
};

}  // namespace heft

#endif  // HEFT_GALLERY_OWNER_KEY_OWNER_H_
