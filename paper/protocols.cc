// SPDX-License-Identifier: Apache-2.0
// The paper's protocols and its matching beside ours: enrolment of all pairs of a class,
// identification, verification, deferred normalisation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ckks/encryptor.h"
#include "experiment/systems.h"
#include "fusion/all_pairs.h"
#include "fusion/compact.h"
#include "fusion/matching.h"
#include "fusion/testing.h"
#include "inverse_sqrt/fit.h"
#include "learning/discriminant.h"
#include "learning/pairing.h"
#include "learning/projection.h"
#include "paper/engine.h"
#include "paper/sections.h"

namespace heft::paper {
using namespace experiment;  // NOLINT

namespace {

using ckks::Ciphertext;

// Discriminants of the training people with a cubic on the data's interval: good enough a model to
// try the protocols on, without a training.
absl::StatusOr<Model> QuickModel(const Study& study) {
  HEFT_ASSIGN_OR_RETURN(const SamplePool pool, SamplePool::Make(study.data, Split::kTrain));
  HEFT_ASSIGN_OR_RETURN(const Discriminants lda, ChimericLda(pool, 32));
  HEFT_ASSIGN_OR_RETURN(const Interval interval, DataInterval(study));
  HEFT_ASSIGN_OR_RETURN(const Approximation f, FitMinimax(3, interval));
  FeatureMatrix projection = FeatureMatrix::Zero(32, lda.vectors.cols());
  projection.topRows(lda.vectors.rows()) = lda.vectors;
  const Eigen::VectorXd s = SquaredNorms(projection, pool.Paired().features);
  std::vector<double> sorted(s.begin(), s.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t tail = static_cast<std::size_t>(0.001 * (sorted.size() - 1));
  projection /= std::pow(sorted[tail] * sorted[sorted.size() - 1 - tail], 0.25);
  return ModelOf(study.data, projection, f, "compact");
}

// Samples of one modality of an identity, at most `most`.
std::vector<std::vector<double>> SamplesOf(const Dataset& data, const std::string& identity,
                                           std::size_t modality, std::size_t most) {
  const FeatureMatrix* features = &data.modalities[modality].features;
  const std::vector<std::string>* labels = &data.labels;
  for (const UnpairedModality& unpaired : data.unpaired) {
    if (unpaired.modality.name != data.modalities[modality].name) continue;
    features = &unpaired.modality.features;
    labels = &unpaired.labels;
  }
  std::vector<std::vector<double>> samples;
  for (std::size_t i = 0; i < labels->size() && samples.size() < most; ++i) {
    if ((*labels)[i] == identity) {
      samples.emplace_back(features->row(i).begin(), features->row(i).end());
    }
  }
  return samples;
}

// Template of unit features in plain.
std::vector<double> PlainTemplate(const Model& model, std::vector<std::vector<double>> sample) {
  for (std::vector<double>& x : sample) {
    double squares = 0;
    for (double v : x) squares += v * v;
    for (double& v : x) v /= std::sqrt(squares);
  }
  return testing::FusePlain(model, sample);
}

// z itself, before any normalisation.
std::vector<double> PlainProjection(const Model& model, std::vector<std::vector<double>> sample) {
  for (std::vector<double>& x : sample) {
    const double length = std::sqrt(testing::Dot(x, x));
    for (double& v : x) v /= length;
  }
  double s = 0;
  std::vector<double> z = testing::FusePlain(model, sample, &s);
  for (double& v : z) v /= model.approximation(s);
  return z;
}

// Enrols all pairs of some identities, then identifies and verifies each of them once.
class Trial {
 public:
  explicit Trial(const Model& model) : model_(model) {}

  absl::Status SetUp() {
    HEFT_ASSIGN_OR_RETURN(instance_, MakeInstance(model_));
    HEFT_ASSIGN_OR_RETURN(secret_, ckks::SecretKey::Generate(context(), rng_));
    public_key_ = ckks::MakePublicKey(context(), *secret_, rng_);
    keys_ = testing::MakeKeys(context(), instance_.plan, *secret_, rng_);
    HEFT_ASSIGN_OR_RETURN(Fuser fuser, Fuser::Create(instance_, model_, &keys_));
    fuser_.emplace(std::move(fuser));
    block_ = EmptyBlock(context(), model_.gamma);
    return absl::OkStatus();
  }

  // Sets of one class, encrypted separately; all their pairs into the gallery.
  absl::Status Enrol(const std::string& identity,
                     const std::vector<std::vector<std::vector<double>>>& sets) {
    std::vector<std::vector<Ciphertext>> encrypted;
    for (std::size_t m = 0; m < sets.size(); ++m) {
      encrypted.emplace_back();
      for (const std::vector<double>& x : sets[m]) {
        HEFT_ASSIGN_OR_RETURN(Ciphertext c, EncryptOne(m, x));
        encrypted.back().push_back(std::move(c));
      }
    }
    if (identities_.empty()) probe_ = {encrypted[0][0], encrypted[1][0]};
    const CpuStopwatch watch;
    std::vector<Normalised> fused;
    HEFT_RETURN_IF_ERROR(
        FuseAllPairs(*fuser_, encrypted, [&](std::span<const std::size_t> at, Normalised z) {
          fused.push_back(std::move(z));
          plain_.push_back(PlainTemplate(model_, {sets[0][at[0]], sets[1][at[1]]}));
          identities_.push_back(identity);
          return absl::OkStatus();
        }));
    fuse_ms_ += watch.Milliseconds();
    std::vector<NewTemplate> added;
    const std::size_t first = identities_.size() - fused.size();
    for (std::size_t i = 0; i < fused.size(); ++i) {
      added.push_back({&fused[i].z, At(first + i)});
    }
    return AddToBlock(instance_, &block_, added, keys_);
  }

  // The same number of pairs, each fused by itself.
  absl::StatusOr<double> FuseOneMs() const {
    const std::vector<const Ciphertext*> pointers = {&probe_[0], &probe_[1]};
    const CpuStopwatch watch;
    HEFT_RETURN_IF_ERROR(fuser_->Fuse(pointers).status());
    return watch.Milliseconds();
  }

  struct Answer {
    double error = 0, predicted = 0;
    bool right = false;  // the best score is of the probe's identity
    double leak = 0;     // verification: the largest other slot's value, which is noise
  };

  // 1:N with the template of two samples against the whole gallery.
  absl::StatusOr<Answer> Identify(const std::string& identity,
                                  const std::vector<std::vector<double>>& sample) {
    HEFT_ASSIGN_OR_RETURN(const Normalised z, FuseSample(sample));
    HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts probe, PrepareProbe(instance_, z.z, keys_));
    HEFT_ASSIGN_OR_RETURN(const Ciphertext scores, MatchBlock(instance_, block_, probe, keys_));
    const std::vector<double> own = PlainTemplate(model_, sample);
    Answer answer;
    double best = -2;
    const auto slots = Open(scores);
    for (std::size_t i = 0; i < plain_.size(); ++i) {
      const Position at = At(i);
      const double score = at.lane == 0 ? slots[at.slot].real() : slots[at.slot].imag();
      answer.error = std::max(answer.error, std::abs(score - testing::Dot(own, plain_[i])));
      if (score > best) {
        best = score;
        answer.right = identities_[i] == identity;
      }
    }
    answer.predicted = ckks::SlotErrorBound(instance_.params(), scores.noise, scores.scale);
    return answer;
  }

  // 1:1 against the templates of the claimed identity in lane 0.
  absl::StatusOr<Answer> Verify(const std::string& claimed,
                                const std::vector<std::vector<double>>& sample) {
    HEFT_ASSIGN_OR_RETURN(const Normalised z, FuseSample(sample));
    std::vector<uint32_t> slots;
    std::vector<std::size_t> templates;
    for (std::size_t i = 0; i < identities_.size(); ++i) {
      if (identities_[i] != claimed || At(i).lane != 0) continue;
      slots.push_back(At(i).slot);
      templates.push_back(i);
    }
    HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts probe,
                          PrepareMaskedProbe(instance_, z.z, slots, 0, keys_));
    HEFT_ASSIGN_OR_RETURN(const Ciphertext scores,
                          VerifyBlock(instance_, block_, probe, slots, 0, keys_));
    const auto opened = Open(scores);
    const std::vector<double> own = PlainTemplate(model_, sample);
    Answer answer;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      answer.error = std::max(answer.error, std::abs(opened[slots[i]].real() -
                                                     testing::Dot(own, plain_[templates[i]])));
    }
    answer.predicted = ckks::SlotErrorBound(instance_.params(), scores.noise, scores.scale);
    answer.right = true;
    return answer;
  }

  std::size_t templates() const { return plain_.size(); }
  double fuse_ms() const { return fuse_ms_; }
  const ckks::Params& params() const { return instance_.params(); }

 private:
  const ckks::Context& context() const { return *instance_.context; }
  // Neighbours in different lanes, so that both are used.
  Position At(std::size_t i) const {
    return {static_cast<uint32_t>(i / 2), static_cast<uint32_t>(i % 2)};
  }
  absl::StatusOr<Ciphertext> EncryptOne(std::size_t modality, const std::vector<double>& x) {
    HEFT_ASSIGN_OR_RETURN(const ckks::Plaintext plain,
                          EncodeCompact(instance_, model_, modality, x));
    return ckks::Encrypt(context(), plain, public_key_, rng_);
  }
  absl::StatusOr<Normalised> FuseSample(const std::vector<std::vector<double>>& sample) {
    std::vector<Ciphertext> encrypted;
    for (std::size_t m = 0; m < sample.size(); ++m) {
      HEFT_ASSIGN_OR_RETURN(encrypted.emplace_back(), EncryptOne(m, sample[m]));
    }
    std::vector<const Ciphertext*> pointers;
    for (const Ciphertext& c : encrypted) pointers.push_back(&c);
    return fuser_->Fuse(pointers);
  }
  std::vector<ckks::Complex> Open(const Ciphertext& c) const {
    return instance_.encoder->Decode(ckks::Decrypt(context(), c, *secret_));
  }

  const Model& model_;
  Instance instance_;
  Csprng rng_;
  std::optional<ckks::SecretKey> secret_;
  ckks::PublicKey public_key_;
  ckks::EvaluationKeys keys_;
  std::optional<Fuser> fuser_;
  TiledCiphertexts block_;
  std::vector<std::vector<double>> plain_;
  std::vector<std::string> identities_;
  std::vector<Ciphertext> probe_;
  double fuse_ms_ = 0;
};

// The paper's packed gallery with deferred normalisation: exact cosines and Euclidean distances.
absl::Status TryPaperMatching(const Study& study, const Model& model, Section* section) {
  Table table{.id = "matching",
              .caption =
                  "Scores of all pairs of the same samples, dense encoding, packed gallery "
                  "with fold rotations.",
              .columns = {{"matching", "Matching"},
                          {"pairs", "Pairs", Format::kCount},
                          {"error", "Error of a score", Format::kSmall},
                          {"predicted", "predicted", Format::kSmall}}};
  const Dataset data = ThinSplit(study.data, Split::kTest, study.quick ? 24 : 64, study.seed);
  const std::vector<FeatureMatrix> rows = ModalityRows(data, Split::kTest);
  const NormalisationSpec cubic = NormalisationSpec::Polynomials(model.approximation);
  HEFT_ASSIGN_OR_RETURN(const PaperScores scores,
                        ScoreByPaperRoute(study.monitor, "packed gallery", model, cubic, rows));
  double error = 0;
  for (Eigen::Index i = 0; i < rows[0].rows(); ++i) {
    for (Eigen::Index j = 0; j < i; ++j) {
      std::vector<std::vector<double>> a, b;
      for (const FeatureMatrix& m : rows) {
        a.emplace_back(m.row(i).begin(), m.row(i).end());
        b.emplace_back(m.row(j).begin(), m.row(j).end());
      }
      const double plain = testing::Dot(PlainTemplate(model, a), PlainTemplate(model, b));
      error = std::max(error, std::abs(scores.scores(i, j) - plain));
    }
  }
  const int64_t n = rows[0].rows();
  table.rows.push_back(
      {"packed gallery (paper), cubic", n * (n - 1) / 2, error, scores.predicted_error});
  // The same z without normalisation: the key owner divides, or takes the distance.
  HEFT_ASSIGN_OR_RETURN(
      const PaperScores deferred,
      ScoreByPaperRoute(study.monitor, "deferred normalisation", model,
                        NormalisationSpec::Deferred(model.approximation.interval), rows));
  std::vector<std::vector<double>> z;
  double smallest = std::numeric_limits<double>::infinity();
  for (Eigen::Index i = 0; i < n; ++i) {
    std::vector<std::vector<double>> sample;
    for (const FeatureMatrix& m : rows) sample.emplace_back(m.row(i).begin(), m.row(i).end());
    z.push_back(PlainProjection(model, sample));
    smallest = std::min(smallest, testing::Dot(z[i], z[i]));
  }
  double cosine_error = 0, distance_error = 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < i; ++j) {
      const double dot = testing::Dot(z[i], z[j]);
      const double ii = testing::Dot(z[i], z[i]), jj = testing::Dot(z[j], z[j]);
      const FeatureMatrix& s = deferred.scores;
      cosine_error = std::max(cosine_error, std::abs(DeferredCosine(s(i, j), s(i, i), s(j, j)) -
                                                     DeferredCosine(dot, ii, jj)));
      const double distance = std::sqrt(std::max(0.0, s(i, i) + s(j, j) - 2 * s(i, j)));
      distance_error = std::max(distance_error, std::abs(distance - std::sqrt(ii + jj - 2 * dot)));
    }
  }
  // An error e of a product and of both norms: at most 2 e of the cosine of vectors of length one.
  table.rows.push_back({"packed gallery, deferred exact cosine", n * (n - 1) / 2, cosine_error,
                        2 * deferred.predicted_error / smallest});
  table.rows.push_back(
      {"packed gallery, Euclidean distance of z", n * (n - 1) / 2, distance_error, nullptr});
  section->tables.push_back(std::move(table));
  section->parameters.emplace_back("packed gallery", scores.parameters);
  section->parameters.emplace_back("deferred normalisation", deferred.parameters);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Section> Protocols(const Study& study) {
  Section section;
  section.id = "protocols";
  section.title = "Matching and protocols";
  section.paper = "Sections “Protocols” and “Encrypted Template Fusion and Matching”";
  if (study.data.modalities.size() != 2) {
    section.text = {"Needs two modalities."};
    return section;
  }
  HEFT_ASSIGN_OR_RETURN(const Model model, QuickModel(study));
  Trial trial(model);
  HEFT_RETURN_IF_ERROR(trial.SetUp());
  const std::size_t people = study.quick ? 3 : 12;
  std::vector<std::string> identities;
  for (int row : RowsOf(study.data.split, Split::kTest)) {
    const std::string& label = study.data.labels[row];
    if (std::count(identities.begin(), identities.end(), label) == 0 &&
        SamplesOf(study.data, label, 0, 3).size() > 1 &&
        SamplesOf(study.data, label, 1, 3).size() > 1) {
      identities.push_back(label);
    }
    if (identities.size() == people) break;
  }
  Progress progress(study.monitor, "protocols");
  std::size_t done = 0;
  // The first sample of each modality is kept for the probe where there are more than two.
  std::vector<std::vector<std::vector<double>>> probes;
  for (const std::string& identity : identities) {
    if (!progress.Update(done++, 2 * identities.size())) return absl::CancelledError("interrupted");
    auto faces = SamplesOf(study.data, identity, 0, 4),
         voices = SamplesOf(study.data, identity, 1, 9);
    probes.push_back({faces[0], voices[0]});
    faces.erase(faces.begin());
    voices.erase(voices.begin());
    HEFT_RETURN_IF_ERROR(trial.Enrol(identity, {faces, voices}));
  }
  Trial::Answer identification, verification;
  int right = 0;
  for (std::size_t i = 0; i < identities.size(); ++i) {
    if (!progress.Update(done++, 2 * identities.size())) return absl::CancelledError("interrupted");
    HEFT_ASSIGN_OR_RETURN(const Trial::Answer one, trial.Identify(identities[i], probes[i]));
    HEFT_ASSIGN_OR_RETURN(const Trial::Answer other, trial.Verify(identities[i], probes[i]));
    right += one.right;
    identification.error = std::max(identification.error, one.error);
    identification.predicted = std::max(identification.predicted, one.predicted);
    verification.error = std::max(verification.error, other.error);
    verification.predicted = std::max(verification.predicted, other.predicted);
  }
  HEFT_ASSIGN_OR_RETURN(const double one_ms, trial.FuseOneMs());
  const double pairs = static_cast<double>(trial.templates());
  section.text = {absl::StrFormat(
      "%d people of the test split, their sets encrypted separately; all pairs of a class "
      "enrolled, "
      "%d templates. The first sample of each modality was kept out as the probe: %d of %d were "
      "identified by the best score (no training went into this projection).",
      identities.size(), trial.templates(), right, identities.size())};
  Table table{
      .id = "protocols",
      .caption = "Encrypted scores against plain ones of the same projection and polynomial.",
      .columns = {{"protocol", "Protocol"},
                  {"error", "Error of a score", Format::kSmall},
                  {"predicted", "predicted", Format::kSmall},
                  {"within", "within"}}};
  table.rows = {{"identification, 1:N, diagonal blocks", identification.error,
                 identification.predicted, identification.error <= identification.predicted},
                {"verification, 1:1, masked", verification.error, verification.predicted,
                 verification.error <= verification.predicted}};
  section.tables.push_back(std::move(table));
  Table enrolment{
      .id = "all_pairs",
      .caption =
          "The projection is linear: each sample is projected once, and a pair "
          "costs an addition and a normalisation.",
      .columns = {{"how", "Enrolment of all pairs"}, {"ms", "ms a pair", Format::kMilliseconds}}};
  enrolment.rows = {{"projected once a sample", trial.fuse_ms() / pairs},
                    {"each pair fused by itself", one_ms}};
  section.tables.push_back(std::move(enrolment));
  section.parameters = {{"gallery", trial.params().Describe()}};
  HEFT_RETURN_IF_ERROR(TryPaperMatching(study, model, &section));
  section.notes = {"The paper gives no numbers for its protocols."};
  return section;
}

}  // namespace heft::paper
