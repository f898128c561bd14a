// SPDX-License-Identifier: Apache-2.0
#include "experiment/encrypted_scores.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "ckks/encryptor.h"
#include "ckks/owner/secret_key.h"
#include "fusion/compact.h"
#include "fusion/matching.h"
#include "fusion/owner/keygen.h"
#include "fusion/samples.h"
#include "gallery/server.h"

namespace heft::experiment {
namespace {

using ckks::Ciphertext;

class Stopwatch {
 public:
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double Milliseconds() const { return 1000 * Seconds(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

std::vector<double> Row(const FeatureMatrix& matrix, std::size_t row) {
  return {matrix.row(row).data(), matrix.row(row).data() + matrix.cols()};
}

// Calls task(i) for i in [0, count) on all threads, in portions between which progress is shown.
absl::Status ForAll(Progress& progress, std::size_t count,
                    const std::function<absl::Status(std::size_t)>& task) {
  const std::size_t portion = 8 * static_cast<std::size_t>(ThreadCount());
  for (std::size_t start = 0; start < count; start += portion) {
    const std::size_t size = std::min(portion, count - start);
    std::vector<absl::Status> status(size);
    ParallelFor(size, [&](std::size_t i) { status[i] = task(start + i); });
    for (const absl::Status& s : status) HEFT_RETURN_IF_ERROR(s);
    if (!progress.Update(start + size, count)) return absl::CancelledError("interrupted");
  }
  return absl::OkStatus();
}

// The roles of one evaluation.
class Experiment {
 public:
  Experiment(const Monitor& monitor, const Model& model,
             const std::vector<FeatureMatrix>& modalities, const std::vector<int>& only)
      : monitor_(monitor),
        model_(model),
        modalities_(modalities),
        only_(only),
        n_(modalities[0].rows()) {}

  absl::StatusOr<EncryptedRun> Run() {
    run_.threads = ThreadCount();
    HEFT_RETURN_IF_ERROR(MakeKeys());
    HEFT_RETURN_IF_ERROR(EncryptAndFuse());
    HEFT_RETURN_IF_ERROR(Enrol());
    HEFT_RETURN_IF_ERROR(Match());
    return std::move(run_);
  }

 private:
  const Instance& instance() const { return server_->instance(); }
  const ckks::Context& context() const { return *instance().context; }

  // Key owner: the keys. Server: takes the evaluation keys as the bytes that would be sent.
  absl::Status MakeKeys() {
    const Stopwatch watch;
    HEFT_ASSIGN_OR_RETURN(const Instance owner, MakeInstance(model_));
    Csprng rng;
    HEFT_ASSIGN_OR_RETURN(secret_, ckks::SecretKey::Generate(*owner.context, rng));
    public_key_ = ckks::MakePublicKey(*owner.context, *secret_, rng);
    Progress progress(monitor_, "making evaluation keys");
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> keys,
                          MakeEvaluationKeys(owner, *secret_, progress.Callback()));
    HEFT_ASSIGN_OR_RETURN(server_, Server::Create(model_, keys, "evaluation keys"));
    run_.evaluation_keys_bytes = static_cast<double>(keys.size());
    run_.parameters = owner.params().Describe();
    run_.security = owner.params().security().Describe();
    for (std::size_t m = 0; m < modalities_.size(); ++m) {
      const std::vector<double> row = Row(modalities_[m], 0);
      HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> file,
                            EncryptSamples(owner, model_, m, public_key_, {&row, 1}, {}));
      run_.sample_bytes += static_cast<double>(file.size());
    }
    run_.keys_seconds = watch.Seconds();
    return absl::OkStatus();
  }

  // Capture device: encrypts each modality by itself. Server: fuses.
  absl::Status EncryptAndFuse() {
    const Stopwatch watch;
    Progress progress(monitor_, "encrypting and fusing samples");
    fused_.resize(n_);
    partial_.assign(only_.size(), std::vector<Ciphertext>(n_));
    std::vector<double> encrypt_ms(n_), fuse_ms(n_);
    HEFT_RETURN_IF_ERROR(ForAll(progress, n_, [&](std::size_t i) -> absl::Status {
      const Stopwatch encryption;
      std::vector<Ciphertext> encrypted;
      Csprng rng;
      for (std::size_t m = 0; m < modalities_.size(); ++m) {
        HEFT_ASSIGN_OR_RETURN(const ckks::Plaintext plain,
                              EncodeCompact(instance(), model_, m, Row(modalities_[m], i)));
        encrypted.push_back(ckks::Encrypt(context(), plain, public_key_, rng));
      }
      encrypt_ms[i] = encryption.Milliseconds();
      const Stopwatch fusion;
      std::vector<const Ciphertext*> pointers;
      for (const Ciphertext& c : encrypted) pointers.push_back(&c);
      HEFT_ASSIGN_OR_RETURN(Normalised fused, server_->fuser().Fuse(pointers));
      fused_[i] = std::move(fused.z);
      fuse_ms[i] = fusion.Milliseconds();
      for (std::size_t k = 0; k < only_.size(); ++k) {
        std::vector<const Ciphertext*> alone(encrypted.size(), nullptr);
        alone[only_[k]] = &encrypted[only_[k]];
        HEFT_ASSIGN_OR_RETURN(Normalised part, server_->fuser().Fuse(alone));
        partial_[k][i] = std::move(part.z);
      }
      return absl::OkStatus();
    }));
    run_.encrypt_ms = Median(std::move(encrypt_ms));
    run_.fuse_ms = Median(std::move(fuse_ms));
    run_.fuse_seconds = watch.Seconds();
    return absl::OkStatus();
  }

  // Template i: block, slot and lane. Neighbours go to different lanes.
  std::size_t PerBlock() const { return 2 * std::size_t{context().slots()}; }
  Position At(std::size_t i) const {
    const uint32_t index = static_cast<uint32_t>(i % PerBlock());
    return {index / 2, index % 2};
  }

  absl::Status Enrol() {
    const Stopwatch watch;
    Progress progress(monitor_, "enrolling templates");
    constexpr std::size_t kBatch = 64;
    for (std::size_t start = 0; start < n_; start += kBatch) {
      if (start % PerBlock() == 0) blocks_.push_back(EmptyBlock(context(), model_.gamma));
      std::vector<NewTemplate> batch;
      for (std::size_t i = start; i < std::min(n_, start + kBatch); ++i) {
        batch.push_back({&fused_[i], At(i)});
      }
      HEFT_RETURN_IF_ERROR(AddToBlock(instance(), &blocks_.back(), batch, server_->keys()));
      if (!progress.Update(start + batch.size(), n_)) return absl::CancelledError("interrupted");
    }
    run_.blocks = blocks_.size();
    run_.template_bytes =
        static_cast<double>(blocks_[0].size() * sizeof(uint32_t)) / static_cast<double>(PerBlock());
    run_.enrol_seconds = watch.Seconds();
    return absl::OkStatus();
  }

  // Server: matches every probe with every block. Key owner: decrypts.
  absl::Status Match() {
    const Stopwatch watch;
    HEFT_RETURN_IF_ERROR(MatchProbes("matching probes", fused_, run_.scores));
    run_.match_seconds = watch.Seconds();
    run_.partial_scores.resize(only_.size());
    for (std::size_t k = 0; k < only_.size(); ++k) {
      const std::string what =
          absl::StrCat("matching probes of ", model_.modalities[only_[k]].name, " only");
      HEFT_RETURN_IF_ERROR(MatchProbes(what, partial_[k], run_.partial_scores[k]));
    }
    return absl::OkStatus();
  }

  absl::Status MatchProbes(const std::string& what, const std::vector<Ciphertext>& probes,
                           FeatureMatrix& opened) {
    Progress progress(monitor_, what);
    opened.resize(n_, n_);
    std::vector<double> prepare_ms(n_), match_ms(n_), decrypt_ms(n_), predicted(n_);
    HEFT_RETURN_IF_ERROR(ForAll(progress, n_, [&](std::size_t i) -> absl::Status {
      const Stopwatch preparing;
      HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts probe,
                            PrepareProbe(instance(), probes[i], server_->keys()));
      prepare_ms[i] = preparing.Milliseconds();
      for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const Stopwatch matching;
        HEFT_ASSIGN_OR_RETURN(const Ciphertext scores,
                              MatchBlock(instance(), blocks_[b], probe, server_->keys()));
        match_ms[i] = matching.Milliseconds();
        predicted[i] = std::max(
            predicted[i], ckks::SlotErrorBound(context().params(), scores.noise, scores.scale));
        const Stopwatch decryption;
        Open(i, b, scores, opened);
        decrypt_ms[i] = decryption.Milliseconds();
      }
      return absl::OkStatus();
    }));
    run_.predicted_error =
        std::max(run_.predicted_error, *std::max_element(predicted.begin(), predicted.end()));
    run_.prepare_ms = Median(std::move(prepare_ms));
    run_.match_block_ms = Median(std::move(match_ms));
    run_.decrypt_ms = Median(std::move(decrypt_ms));
    return absl::OkStatus();
  }

  void Open(std::size_t probe, std::size_t block, const Ciphertext& scores, FeatureMatrix& opened) {
    const std::vector<ckks::Complex> slots =
        instance().encoder->Decode(ckks::Decrypt(context(), scores, *secret_));
    const std::size_t first = block * PerBlock();
    for (std::size_t i = first; i < std::min(n_, first + PerBlock()); ++i) {
      const Position at = At(i);
      opened(probe, i) = at.lane == 0 ? slots[at.slot].real() : slots[at.slot].imag();
    }
  }

  const Monitor& monitor_;
  const Model& model_;
  const std::vector<FeatureMatrix>& modalities_;
  const std::vector<int>& only_;
  const std::size_t n_;
  std::unique_ptr<Server> server_;
  std::optional<ckks::SecretKey> secret_;
  ckks::PublicKey public_key_;
  std::vector<Ciphertext> fused_;
  std::vector<std::vector<Ciphertext>> partial_;  // [k][i]: sample i with modality only_[k] alone
  std::vector<TiledCiphertexts> blocks_;
  EncryptedRun run_;
};

}  // namespace

absl::StatusOr<EncryptedRun> ScoreEncrypted(const Monitor& monitor, const Model& model,
                                            const std::vector<FeatureMatrix>& modalities,
                                            const std::vector<int>& only) {
  if (modalities.size() != model.modalities.size() || modalities[0].rows() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("the model fuses ", model.modalities.size(),
                                                   " modalities, ", modalities.size(),
                                                   " are given, with a sample each at least"));
  }
  return Experiment(monitor, model, modalities, only).Run();
}

}  // namespace heft::experiment
