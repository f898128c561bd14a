// SPDX-License-Identifier: Apache-2.0
// KeyOwner: opens encrypted scores. What leaves it is a decision, or rounded and restricted to the
// slots that answer the question; raw slots, which carry the noise of the ciphertext, leave by one
// function alone, which says so in its name (SECURITY.md).
#ifndef HEFT_GALLERY_OWNER_KEY_OWNER_H_
#define HEFT_GALLERY_OWNER_KEY_OWNER_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/owner/flooding.h"
#include "ckks/owner/secret_key.h"
#include "fusion/plan.h"
#include "gallery/owner/query_budget.h"
#include "gallery/scores.h"
#include "heft/model.h"

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

// What a relying party needs to know, and no score.
struct Decision {
  ScoreKind kind = ScoreKind::kIdentification;
  std::string probe;
  bool accepted = false;
  std::string identity;             // of whom, if accepted
  std::optional<bool> in_interval;  // as OpenedScores; a probe outside is never accepted
};

struct OpenOptions {
  // Decrypts with noise flooding; kFailedPrecondition where the model's profile has no room for it
  // (SECURITY.md: none of those in 0.1 has).
  std::optional<ckks::FloodingOptions> flooding;
};

// Releases decisions and rounded scores. Slots that carry no answer are masked before anything
// leaves a function that decrypts, and every opening is charged to a query budget first.
class KeyOwner {
 public:
  // Without `budget` the owner counts in memory, against the default limit, as long as it lives.
  static absl::StatusOr<KeyOwner> Create(const Model& model, ckks::SecretKey key,
                                         std::unique_ptr<QueryBudget> budget = nullptr);

  const ckks::SecretKey& key() const { return key_; }
  const Instance& instance() const { return instance_; }
  QueryBudget& budget() const { return *budget_; }

  // kFailedPrecondition for scores under another key, model or parameters; kResourceExhausted if
  // the query budget is spent.
  absl::StatusOr<OpenedScores> Open(ByteSpan scores, std::string_view what,
                                    const OpenOptions& options = {}) const;
  // The same, reduced to whether the best candidate reaches `threshold`.
  absl::StatusOr<Decision> Decide(ByteSpan scores, std::string_view what, double threshold,
                                  const OpenOptions& options = {}) const;

  // Slots as they are decrypted, unrounded, those without an answer zero; one vector a reply.
  // **They carry the noise from which the secret key can be computed** (SECURITY.md): for
  // measurements by the key owner, never to be shown to anybody. Charged like Open.
  absl::StatusOr<std::vector<std::vector<ckks::Complex>>> OpenRawSlotsUnsafe(
      ByteSpan scores, std::string_view what) const;

 private:
  using Answers = std::vector<ScoreReply::Answer>;

  // Parses, checks that the scores belong here and can be opened as asked, charges.
  absl::StatusOr<EncryptedScores> Admit(ByteSpan bytes, std::string_view what,
                                        const OpenOptions& options) const;
  // Slots with everything zero that `answers` does not name: to be wiped by the caller.
  absl::StatusOr<std::vector<ckks::Complex>> OpenAnswers(const ckks::Ciphertext& ciphertext,
                                                         const Answers& answers,
                                                         const OpenOptions& options) const;

  KeyOwner(const Model& model, Instance instance, ckks::SecretKey key,
           std::unique_ptr<QueryBudget> budget)
      : model_(model),
        instance_(std::move(instance)),
        key_(std::move(key)),
        budget_(std::move(budget)) {}

  Model model_;
  Instance instance_;
  ckks::SecretKey key_;
  std::unique_ptr<QueryBudget> budget_;
};

}  // namespace heft

#endif  // HEFT_GALLERY_OWNER_KEY_OWNER_H_
