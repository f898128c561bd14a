// SPDX-License-Identifier: Apache-2.0
// Key owner, client and server in one process: what measurements and experiments run on. The keys
// are thrown away with the object, which alone makes it right to hold all of them at once.
#ifndef HEFT_EXPERIMENT_ROLES_H_
#define HEFT_EXPERIMENT_ROLES_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "ckks/encoder.h"
#include "ckks/keys.h"
#include "ckks/owner/secret_key.h"
#include "experiment/random_model.h"
#include "fusion/fuser.h"
#include "fusion/matching.h"
#include "fusion/owner/keygen.h"
#include "fusion/probe.h"
#include "heft/model.h"

namespace heft::experiment {

// KeyedContext: parameters with a key pair, for any route, and the evaluation keys that were asked
// for.
class KeyedContext {
 public:
  static absl::StatusOr<std::unique_ptr<KeyedContext>> Create(const ckks::ParamsSpec& parameters);

  // MakeKeys adds what `needs` asks for, on all threads.
  void MakeKeys(const KeyNeeds& needs);

  const ckks::Context& context() const { return *context_; }
  const std::shared_ptr<const ckks::Context>& shared_context() const { return context_; }
  const ckks::Params& params() const { return context_->params(); }
  const ckks::Encoder& encoder() const { return *encoder_; }
  const ckks::EvaluationKeys& keys() const { return keys_; }
  const ckks::SecretKey& secret() const { return secret_; }
  const ckks::PublicKey& public_key() const { return public_key_; }

  // Encrypt uses the public key, as a client does. Any thread.
  ckks::Ciphertext Encrypt(const ckks::Plaintext& plain) const;
  std::vector<ckks::Ciphertext> Encrypt(std::span<const ckks::Plaintext> plain) const;
  // Open decrypts all slots.
  std::vector<ckks::Complex> Open(const ckks::Ciphertext& ciphertext) const;

  KeyedContext(std::shared_ptr<const ckks::Context> context,
               std::shared_ptr<const ckks::Encoder> encoder, ckks::SecretKey secret);
  // TakeKeys: evaluation keys that were made elsewhere.
  void TakeKeys(ckks::EvaluationKeys keys) { keys_ = std::move(keys); }

 protected:
  std::shared_ptr<const ckks::Context> context_;
  std::shared_ptr<const ckks::Encoder> encoder_;
  ckks::SecretKey secret_;
  ckks::PublicKey public_key_;
  ckks::EvaluationKeys keys_;
};

// Pointers: what the fusers take; nullptr for a modality whose ciphertext is empty.
std::vector<const ckks::Ciphertext*> Pointers(std::span<const ckks::Ciphertext> sample);

// Roles: the product's route for one model. The server gets the evaluation keys as the bytes that
// the key owner would send. Const functions may be called from any thread. The base is the ring of
// gallery and replies.
class Roles : public KeyedContext {
 public:
  // `progress` is called with (done, total) keys and returns false to stop (kCancelled).
  static absl::StatusOr<std::unique_ptr<Roles>> Create(
      const Model& model, const std::function<bool(size_t, size_t)>& progress = {});

  const Model& model() const { return model_; }
  const Rings& rings() const { return rings_; }
  const Instance& instance() const { return rings_.matching; }
  // The ring in which samples are enrolled: this one, or the large one of two.
  const KeyedContext& enrolment() const {
    if (enrolment_ != nullptr) return *enrolment_;
    return *this;
  }
  const ckks::SwitchKey& ring_switch() const { return ring_switch_; }
  // Of all evaluation keys, and of two rings those for enrolment.
  size_t evaluation_keys_bytes() const { return evaluation_keys_bytes_ + enrolment_keys_bytes_; }
  size_t enrolment_keys_bytes() const { return enrolment_keys_bytes_; }
  // What one block holds.
  size_t TemplatesPerBlock() const { return 2 * size_t{params().slots()}; }

  // Client: a ciphertext a modality, empty where the sample's vector is; for enrolment, and for a
  // probe of an identification.
  absl::StatusOr<std::vector<ckks::Ciphertext>> EncryptSample(const Vectors& sample) const;
  absl::StatusOr<std::vector<ckks::Ciphertext>> EncryptProbe(const Vectors& sample) const;

  // Server: fusion for enrolment, with FuseTemplate's way into the gallery's ring, and for
  // identification.
  const Fuser& fuser() const { return *fuser_; }
  absl::StatusOr<ckks::Ciphertext> FuseTemplate(
      std::span<const ckks::Ciphertext* const> modalities) const;
  const ProbeFuser& prober() const { return *prober_; }
  absl::Status Enrol(TiledCiphertexts* block, std::span<const NewTemplate> templates) const;
  // Match: the scores of one block with what the prober fused.
  absl::StatusOr<ckks::Ciphertext> Match(const TiledCiphertexts& block,
                                         const ckks::Ciphertext& probe) const;

  // Sent: the scores of an identification as the key owner has them, short where replies are.
  absl::StatusOr<ckks::Ciphertext> Sent(const ckks::Ciphertext& scores) const;

  // Key owner: the cosines of a block, templates at PositionOf(0), PositionOf(1), ... `norm`: of a
  // thin probe, by whose root scores are divided; without it they are products. Where the proof of
  // the norm fails, all are kRefusedScore and `refused` is set: the key owner rejects such a probe.
  static constexpr double kRefusedScore = -1;  // below every threshold
  std::vector<double> OpenScores(const ckks::Ciphertext& scores,
                                 const ckks::Ciphertext* norm = nullptr,
                                 bool* refused = nullptr) const;

 private:
  Roles(const Model& model, const Rings& rings, SecretKeys secrets);

  Model model_;
  Rings rings_;
  std::unique_ptr<KeyedContext> enrolment_;  // of two rings
  ckks::SwitchKey ring_switch_;
  size_t evaluation_keys_bytes_ = 0, enrolment_keys_bytes_ = 0;
  std::optional<Fuser> fuser_;
  std::optional<ProbeFuser> prober_;
};

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_ROLES_H_
