// SPDX-License-Identifier: Apache-2.0
// The key owner's role: it makes the keys, opens the server's replies and decides. What leaves it
// is a decision, or scores rounded and restricted to the templates that answer; every opening is
// charged to a query budget first (SECURITY.md). Link heft::heft, never in a server.
#ifndef HEFT_KEY_OWNER_H_
#define HEFT_KEY_OWNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/client.h"
#include "heft/export.h"
#include "heft/gallery.h"
#include "heft/model.h"
#include "heft/progress.h"
#include "heft/trust.h"

namespace heft {

// Candidate: an identity with its best score over its templates.
struct Candidate {
  std::string identity;    // "#" and the position where the reply has no names
  double score = 0;        // cosine, rounded to kScoreStep
  uint32_t templates = 0;  // of this identity
  // What the rounded score says in favour of a match, to two digits, where the model is calibrated.
  std::optional<double> log_likelihood_ratio;
};
inline constexpr double kScoreStep = 1e-3;

// Decision: what a relying party needs to know, and no score.
struct Decision {
  ScoreKind kind = ScoreKind::kIdentification;
  std::string probe;  // its label, as the client gave it
  bool accepted = false;
  std::string identity;             // of whom, if accepted
  std::optional<bool> in_interval;  // as OpenedScores; a probe outside is never accepted
};

// OpenedScores: a reply in the clear.
struct HEFT_EXPORT OpenedScores {
  ScoreKind kind = ScoreKind::kIdentification;
  std::string probe;
  std::string claimed;                // verification: the claimed identity
  std::vector<Candidate> candidates;  // best first
  // Where the reply carries |z|^2: whether it lies in the approximation's interval, or, of a thin
  // probe, where scores are precise. Outside of it scores are wrong.
  std::optional<bool> in_interval;

  // The rule of acceptance: the best candidate reaches `threshold` and the probe is not outside.
  Decision Decide(double threshold) const;
};

// Flooding: noise added on decryption, for so many bits of statistical security (at least 30)
// against an adversary who sees so many decryptions.
struct Flooding {
  int security_bits = 30;
  uint32_t queries = 49;
};

// BudgetUse: what the record of a key's queries says of a model's galleries (SECURITY.md).
struct BudgetUse {
  uint64_t limit = 0;  // scores that an identity may give
  uint64_t used = 0;   // of the identity that has given the most
  uint64_t identifications = 0;
  uint64_t identities_verified = 0;
  double reconstruction_cosine = 0;  // what `limit` scores tell of a template, in (0, 1]
  std::optional<KeyId> successor;    // the key is revoked: this one has taken its place
};

// KeyOwner: a model and a secret key, in locked memory where the system grants it. Const calls may
// come from any number of threads.
class HEFT_EXPORT KeyOwner {
 public:
  class HEFT_HIDDEN Impl;

  // A new secret key. Queries are counted in memory, for as long as the object lives.
  static absl::StatusOr<KeyOwner> Generate(const Model& model);
  // The secret key of a file. Queries are recorded in `budget_file`, or beside the key in
  // PATH.budget if that is empty; the first one starts the record. kFailedPrecondition for a file
  // that others may read, for other parameters, or for a sealed key without a `passphrase` to ask;
  // kInvalidArgument for a wrong passphrase; kDataLoss.
  static absl::StatusOr<KeyOwner> Load(const Model& model, const std::string& path,
                                       const PassphraseSource& passphrase = {},
                                       const std::string& budget_file = "");

  KeyOwner(KeyOwner&&) noexcept;
  KeyOwner& operator=(KeyOwner&&) noexcept;
  ~KeyOwner();

  const KeyId& key_id() const;

  // The key that this owner signs with, which follows from the secret key. kUnavailable.
  absl::StatusOr<SigningKey> Signer() const;
  // From here on Open and Decide take replies alone that OpenSigned takes: signed by a server of
  // `trust`, for this owner, in time, of a gallery that it pins if it pins any. Their further
  // errors: OpenSigned's. kUnavailable. Not while others use the object.
  absl::Status RequireSigned(Trust trust);

  // For clients (heft/client.h), some 270 KB.
  std::vector<uint8_t> EncryptionKey() const;
  // For the server (heft/server.h): just what the model's evaluation needs, some 7 MB (one ring:
  // 35). kCancelled.
  absl::StatusOr<std::vector<uint8_t>> EvaluationKeys(const Monitor& monitor = {}) const;
  // The same for enrolment and verification, where the model's profile has two rings ("thin"), some
  // 30 MB; empty where one file serves all. kCancelled.
  absl::StatusOr<std::vector<uint8_t>> EnrolmentKeys(const Monitor& monitor = {}) const;
  // Client::Encrypt with the secret key: half the bytes and less noise.
  absl::StatusOr<std::vector<uint8_t>> Encrypt(const Samples& samples) const;
  // Client::EncryptFused with the secret key.
  absl::StatusOr<std::vector<uint8_t>> EncryptFused(std::span<const Samples> modalities) const;

  // A reply of the server. kFailedPrecondition for scores under another key, model or parameters,
  // and where the model's profile has no room for flooding (SECURITY.md: none of those in 0.1 has);
  // kDataLoss; kResourceExhausted if the query budget is spent, kUnavailable if it cannot be
  // recorded. What fails before decryption is not charged.
  absl::StatusOr<OpenedScores> Open(std::span<const uint8_t> reply, std::string_view what,
                                    const std::optional<Flooding>& flooding = {}) const;
  // The same, reduced to what OpenedScores::Decide says.
  absl::StatusOr<Decision> Decide(std::span<const uint8_t> reply, std::string_view what,
                                  double threshold,
                                  const std::optional<Flooding>& flooding = {}) const;

  absl::StatusOr<BudgetUse> Budget() const;
  // The explicit way to raise or lower a budget. kFailedPrecondition if the key is revoked.
  absl::Status SetBudget(uint64_t limit);
  // Where queries are recorded; empty: in memory.
  const std::string& budget_file() const;

 private:
  friend struct Inside;
  explicit KeyOwner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heft

#endif  // HEFT_KEY_OWNER_H_
