// SPDX-License-Identifier: Apache-2.0
#include "experiment/encrypted_scores.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "experiment/roles.h"
#include "experiment/stopwatch.h"
#include "fusion/samples.h"

namespace heft::experiment {
namespace {

using ckks::Ciphertext;

std::vector<double> Row(const FeatureMatrix& matrix, size_t row) {
  return {matrix.row(row).data(), matrix.row(row).data() + matrix.cols()};
}

}  // namespace

absl::Status ForAll(const Progress& progress, size_t count,
                    const std::function<absl::Status(size_t)>& task) {
  const size_t portion = 8 * static_cast<size_t>(ThreadCount());
  for (size_t start = 0; start < count; start += portion) {
    const size_t size = std::min(portion, count - start);
    HEFT_RETURN_IF_ERROR(TryParallelFor(size, [&](size_t i) { return task(start + i); }));
    HEFT_RETURN_IF_ERROR(progress.Step(start + size, count));
  }
  return absl::OkStatus();
}

namespace {

// One evaluation.
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
  absl::Status MakeKeys() {
    const Stopwatch watch;
    const Progress progress(monitor_, "making evaluation keys");
    HEFT_ASSIGN_OR_RETURN(roles_, Roles::Create(model_, progress.Callback()));
    run_.evaluation_keys_bytes = static_cast<double>(roles_->evaluation_keys_bytes());
    run_.parameters = roles_->params().Describe();
    run_.security = roles_->params().security().Describe();
    for (size_t m = 0; m < modalities_.size(); ++m) {
      const std::vector<double> row = Row(modalities_[m], 0);
      HEFT_ASSIGN_OR_RETURN(
          const std::vector<uint8_t> file,
          EncryptSamples(roles_->instance(), model_, m, roles_->public_key(), {&row, 1}, {}));
      run_.sample_bytes += static_cast<double>(file.size());
    }
    run_.keys_seconds = watch.Seconds();
    return absl::OkStatus();
  }

  Vectors Sample(size_t i) const {
    Vectors sample;
    for (const FeatureMatrix& modality : modalities_) sample.push_back(Row(modality, i));
    return sample;
  }

  // Probe: the matched ciphertext, and for a thin one the proof of its norm.
  struct Probe {
    Ciphertext z;
    std::optional<Ciphertext> norm;
  };

  // One sample as a probe, with modality `only` alone if that is not negative.
  absl::StatusOr<Probe> FuseProbe(std::span<const Ciphertext> encrypted, int only = -1) const {
    std::vector<const Ciphertext*> modalities = Pointers(encrypted);
    for (int m = 0; only >= 0 && m < static_cast<int>(modalities.size()); ++m) {
      if (m != only) modalities[m] = nullptr;
    }
    if (!roles_->rings().thin()) {
      HEFT_ASSIGN_OR_RETURN(Ciphertext z, roles_->FuseTemplate(modalities));
      return Probe{std::move(z), {}};
    }
    HEFT_ASSIGN_OR_RETURN(ProvenProbe fused, roles_->prober().Fuse(modalities));
    return Probe{std::move(fused.z), std::move(fused.norm)};
  }

  // Capture device: encrypts each modality by itself. Server: fuses. With one ring, the enrolled
  // ciphertext is the probe too.
  absl::Status EncryptAndFuse() {
    const Stopwatch watch;
    const Progress progress(monitor_, "encrypting and fusing samples");
    fused_.resize(n_);
    probes_.resize(n_);
    partial_.assign(only_.size(), std::vector<Probe>(n_));
    const bool thin = roles_->rings().thin();
    std::vector<double> encrypt_ms(n_), fuse_ms(n_);
    HEFT_RETURN_IF_ERROR(ForAll(progress, n_, [&](size_t i) -> absl::Status {
      const Stopwatch encryption;
      HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> encrypted,
                            roles_->EncryptProbe(Sample(i)));
      encrypt_ms[i] = encryption.Milliseconds();
      const Stopwatch fusion;
      HEFT_ASSIGN_OR_RETURN(probes_[i], FuseProbe(encrypted));
      fuse_ms[i] = fusion.Milliseconds();
      for (size_t k = 0; k < only_.size(); ++k) {
        HEFT_ASSIGN_OR_RETURN(partial_[k][i], FuseProbe(encrypted, only_[k]));
      }
      if (!thin) {
        fused_[i] = probes_[i].z;
        return absl::OkStatus();
      }
      HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> enrolled,
                            roles_->EncryptSample(Sample(i)));
      HEFT_ASSIGN_OR_RETURN(fused_[i], roles_->FuseTemplate(Pointers(enrolled)));
      return absl::OkStatus();
    }));
    run_.encrypt_ms = Median(std::move(encrypt_ms));
    run_.fuse_ms = Median(std::move(fuse_ms));
    run_.fuse_seconds = watch.Seconds();
    return absl::OkStatus();
  }

  // Template i: block, slot and lane. Neighbours go to different lanes.
  Position At(size_t i) const {
    const uint32_t index = static_cast<uint32_t>(i % roles_->TemplatesPerBlock());
    return {index / 2, index % 2};
  }

  absl::Status Enrol() {
    const Stopwatch watch;
    const Progress progress(monitor_, "enrolling templates");
    constexpr size_t kBatch = 64;
    for (size_t start = 0; start < n_; start += kBatch) {
      if (start % roles_->TemplatesPerBlock() == 0)
        blocks_.push_back(EmptyBlock(roles_->context(), model_.gamma));
      std::vector<NewTemplate> batch;
      for (size_t i = start; i < std::min(n_, start + kBatch); ++i) {
        batch.push_back({&fused_[i], At(i)});
      }
      HEFT_RETURN_IF_ERROR(roles_->Enrol(&blocks_.back(), batch));
      HEFT_RETURN_IF_ERROR(progress.Step(start + batch.size(), n_));
    }
    run_.blocks = blocks_.size();
    run_.template_bytes = static_cast<double>(blocks_[0].size() * sizeof(uint32_t)) /
                          static_cast<double>(roles_->TemplatesPerBlock());
    run_.enrol_seconds = watch.Seconds();
    return absl::OkStatus();
  }

  // Server: matches every probe with every block. Key owner: decrypts.
  absl::Status Match() {
    const Stopwatch watch;
    HEFT_RETURN_IF_ERROR(MatchProbes("matching probes", probes_, run_.scores));
    run_.match_seconds = watch.Seconds();
    run_.partial_scores.resize(only_.size());
    for (size_t k = 0; k < only_.size(); ++k) {
      const std::string what =
          absl::StrCat("matching probes of ", model_.modalities[only_[k]].name, " only");
      HEFT_RETURN_IF_ERROR(MatchProbes(what, partial_[k], run_.partial_scores[k]));
    }
    return absl::OkStatus();
  }

  absl::Status MatchProbes(const std::string& what, const std::vector<Probe>& probes,
                           FeatureMatrix& opened) {
    const Progress progress(monitor_, what);
    opened.resize(n_, n_);
    std::vector<double> prepare_ms(n_), match_ms(n_), decrypt_ms(n_), predicted(n_);
    std::vector<char> refused(n_);
    HEFT_RETURN_IF_ERROR(ForAll(progress, n_, [&](size_t i) -> absl::Status {
      const Stopwatch preparing;
      HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts probe,
                            PrepareProbe(roles_->instance(), probes[i].z, roles_->keys()));
      prepare_ms[i] = preparing.Milliseconds();
      for (size_t b = 0; b < blocks_.size(); ++b) {
        const Stopwatch matching;
        HEFT_ASSIGN_OR_RETURN(const Ciphertext scores,
                              MatchBlock(roles_->instance(), blocks_[b], probe, roles_->keys()));
        match_ms[i] = matching.Milliseconds();
        HEFT_ASSIGN_OR_RETURN(const Ciphertext sent, roles_->Sent(scores));
        predicted[i] =
            std::max(predicted[i], ckks::SlotErrorBound(roles_->params(), sent.noise, sent.scale));
        const Stopwatch decryption;
        refused[i] = Open(i, b, sent, probes[i], opened);
        decrypt_ms[i] = decryption.Milliseconds();
      }
      return absl::OkStatus();
    }));
    run_.predicted_error =
        std::max(run_.predicted_error, *std::max_element(predicted.begin(), predicted.end()));
    if (&opened == &run_.scores) {
      run_.refused = static_cast<size_t>(std::ranges::count(refused, char{true}));
    }
    run_.prepare_ms = Median(std::move(prepare_ms));
    run_.match_block_ms = Median(std::move(match_ms));
    run_.decrypt_ms = Median(std::move(decrypt_ms));
    return absl::OkStatus();
  }

  // Whether the probe is refused.
  bool Open(size_t probe, size_t block, const Ciphertext& scores, const Probe& fused,
            FeatureMatrix& opened) {
    bool refused = false;
    const std::vector<double> values =
        roles_->OpenScores(scores, fused.norm ? &*fused.norm : nullptr, &refused);
    const size_t first = block * roles_->TemplatesPerBlock();
    for (size_t i = first; i < std::min(n_, first + roles_->TemplatesPerBlock()); ++i) {
      const Position at = At(i);
      opened(probe, i) = values[size_t{at.lane} * roles_->params().slots() + at.slot];
    }
    return refused;
  }

  const Monitor& monitor_;
  const Model& model_;
  const std::vector<FeatureMatrix>& modalities_;
  const std::vector<int>& only_;
  const size_t n_;
  std::unique_ptr<Roles> roles_;
  std::vector<Ciphertext> fused_;  // to enrol
  std::vector<Probe> probes_;
  std::vector<std::vector<Probe>> partial_;  // [k][i]: sample i with modality only_[k] alone
  std::vector<TiledCiphertexts> blocks_;
  EncryptedRun run_;
};

}  // namespace

absl::StatusOr<EncryptedRun> ScoreEncrypted(const Monitor& monitor, const Model& model,
                                            const std::vector<FeatureMatrix>& modalities,
                                            const std::vector<int>& only) {
  if (modalities.size() != model.modalities.size() || modalities[0].rows() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model fuses ", model.modalities.size(), " modalities, ",
                     modalities.size(), " are given, and each needs at least one sample"));
  }
  return Experiment(monitor, model, modalities, only).Run();
}

}  // namespace heft::experiment
