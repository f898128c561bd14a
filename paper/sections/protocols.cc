// SPDX-License-Identifier: Apache-2.0
// The paper's protocols and its matching beside ours: enrolment of all pairs of a class,
// identification, verification, deferred normalisation.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "experiment/roles.h"
#include "experiment/stopwatch.h"
#include "experiment/systems.h"
#include "fusion/fuser.h"
#include "heft/train.h"
#include "learning/discriminant.h"
#include "learning/pairing.h"
#include "learning/projection.h"
#include "paper/methods/normalisation.h"
#include "paper/methods/route.h"
#include "paper/sections/sections.h"

namespace heft::paper {
namespace {

using ckks::Ciphertext;
using experiment::Dot;
using experiment::Roles;
using experiment::Stopwatch;
using experiment::Vectors;

// QuickModel: discriminants of the training people with a cubic on the data's interval: good enough
// a model to try the protocols on, without a training.
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
  const size_t tail = static_cast<size_t>(0.001 * (sorted.size() - 1));
  projection /= std::pow(sorted[tail] * sorted[sorted.size() - 1 - tail], 0.25);
  return ModelOf(study.data, projection, f, "compact");
}

// SamplesOf: samples of one modality of an identity, at most `most`.
std::vector<std::vector<double>> SamplesOf(const Dataset& data, const std::string& identity,
                                           size_t modality, size_t most) {
  const FeatureMatrix* features = &data.modalities[modality].features;
  const std::vector<std::string>* labels = &data.labels;
  for (const UnpairedModality& unpaired : data.unpaired) {
    if (unpaired.modality.name != data.modalities[modality].name) continue;
    features = &unpaired.modality.features;
    labels = &unpaired.labels;
  }
  std::vector<std::vector<double>> samples;
  for (size_t i = 0; i < labels->size() && samples.size() < most; ++i) {
    if ((*labels)[i] == identity) {
      samples.emplace_back(features->row(i).begin(), features->row(i).end());
    }
  }
  return samples;
}

// Units: the sample's vectors scaled to length one.
Vectors Units(Vectors sample) {
  for (std::vector<double>& x : sample) {
    const double length = std::sqrt(Dot(x, x));
    for (double& v : x) v /= length;
  }
  return sample;
}

std::vector<double> PlainTemplate(const Model& model, const Vectors& sample) {
  return experiment::FusePlain(model, Units(sample));
}

// ProtocolTrial enrols all pairs of some identities, then identifies and verifies each of them once.
class ProtocolTrial {
 public:
  explicit ProtocolTrial(const Roles& roles)
      : roles_(roles), block_(EmptyBlock(roles.context(), roles.model().gamma)) {}

  // Enrol: sets of one class, encrypted separately; all their pairs into the gallery.
  absl::Status Enrol(const std::string& identity, const std::vector<Vectors>& sets) {
    std::vector<std::vector<Ciphertext>> encrypted(sets.size());
    for (size_t m = 0; m < sets.size(); ++m) {
      for (const std::vector<double>& x : sets[m]) {
        Vectors alone(sets.size());
        alone[m] = x;
        HEFT_ASSIGN_OR_RETURN(std::vector<Ciphertext> c, roles_.EncryptSample(alone));
        encrypted[m].push_back(std::move(c[m]));
      }
    }
    if (identities_.empty()) {
      for (const auto& set : encrypted) first_pair_.push_back(set[0]);
    }
    const Stopwatch watch(Stopwatch::kProcess);
    std::vector<Normalised> fused;
    HEFT_RETURN_IF_ERROR(
        FuseAllPairs(roles_.fuser(), encrypted, [&](std::span<const size_t> at, Normalised z) {
          fused.push_back(std::move(z));
          plain_.push_back(PlainTemplate(roles_.model(), {sets[0][at[0]], sets[1][at[1]]}));
          identities_.push_back(identity);
          return absl::OkStatus();
        }));
    fuse_ms_ += watch.Milliseconds();
    std::vector<NewTemplate> added;
    const size_t first = identities_.size() - fused.size();
    for (size_t i = 0; i < fused.size(); ++i) added.push_back({&fused[i].z, At(first + i)});
    return roles_.Enrol(&block_, added);
  }

  // FuseOneMs: one pair, fused by itself.
  absl::StatusOr<double> FuseOneMs() const {
    const Stopwatch watch(Stopwatch::kProcess);
    HEFT_RETURN_IF_ERROR(roles_.fuser().Fuse(experiment::Pointers(first_pair_)).status());
    return watch.Milliseconds();
  }

  // Answer: errors, largest of all scores and probes so far, and how many best scores were right.
  struct Answer {
    double error = 0, predicted = 0;
    int right = 0;
  };

  // Identify: 1:N with the template of a sample against the whole gallery.
  absl::Status Identify(const std::string& identity, const Vectors& sample, Answer* answer) const {
    HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> encrypted, roles_.EncryptSample(sample));
    HEFT_ASSIGN_OR_RETURN(const ProvenProbe z,
                          roles_.prober().Fuse(experiment::Pointers(encrypted)));
    HEFT_ASSIGN_OR_RETURN(const Ciphertext reply, roles_.Match(block_, z.z));
    const std::vector<double> scores = roles_.OpenScores(reply);
    const std::vector<double> own = PlainTemplate(roles_.model(), sample);
    size_t best = 0;
    for (size_t i = 0; i < plain_.size(); ++i) {
      const double score = scores[Index(i)];
      answer->error = std::max(answer->error, std::abs(score - Dot(own, plain_[i])));
      if (score > scores[Index(best)]) best = i;
    }
    answer->right += identities_[best] == identity;
    Predict(reply, answer);
    return absl::OkStatus();
  }

  // Verify: 1:1 against the templates of the claimed identity in lane 0.
  absl::Status Verify(const std::string& claimed, const Vectors& sample, Answer* answer) const {
    HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> encrypted, roles_.EncryptSample(sample));
    HEFT_ASSIGN_OR_RETURN(const Normalised z, roles_.fuser().Fuse(experiment::Pointers(encrypted)));
    std::vector<uint32_t> slots;
    std::vector<size_t> templates;
    for (size_t i = 0; i < identities_.size(); ++i) {
      if (identities_[i] != claimed || At(i).lane != 0) continue;
      slots.push_back(At(i).slot);
      templates.push_back(i);
    }
    const Instance& instance = roles_.instance();
    HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts probe,
                          PrepareMaskedProbe(instance, z.z, slots, 0, roles_.keys()));
    HEFT_ASSIGN_OR_RETURN(const Ciphertext reply,
                          VerifyBlock(instance, block_, probe, slots, 0, roles_.keys()));
    const auto opened = roles_.Open(reply);
    const std::vector<double> own = PlainTemplate(roles_.model(), sample);
    for (size_t i = 0; i < slots.size(); ++i) {
      const double plain = Dot(own, plain_[templates[i]]);
      answer->error = std::max(answer->error, std::abs(opened[slots[i]].real() - plain));
    }
    Predict(reply, answer);
    return absl::OkStatus();
  }

  size_t templates() const { return plain_.size(); }
  double fuse_ms() const { return fuse_ms_; }

 private:
  // At: neighbours in different lanes, so that both are used.
  Position At(size_t i) const {
    return {static_cast<uint32_t>(i / 2), static_cast<uint32_t>(i % 2)};
  }
  // Index among the opened scores of a block.
  size_t Index(size_t i) const { return At(i).lane * roles_.params().slots() + At(i).slot; }
  void Predict(const Ciphertext& reply, Answer* answer) const {
    answer->predicted = std::max(answer->predicted,
                                 ckks::SlotErrorBound(roles_.params(), reply.noise, reply.scale));
  }

  const Roles& roles_;
  TiledCiphertexts block_;
  std::vector<std::vector<double>> plain_;
  std::vector<std::string> identities_;
  std::vector<Ciphertext> first_pair_;
  double fuse_ms_ = 0;
};

// Worst: the largest |a(i, j) - b(i, j)| over all pairs.
template <typename A, typename B>
double Worst(int64_t n, const A& a, const B& b) {
  double worst = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) worst = std::max(worst, std::abs(a(i, j) - b(i, j)));
  }
  return worst;
}

// AddPackedMatching: the paper's packed gallery, and with deferred normalisation exact cosines and
// Euclidean distances.
absl::Status AddPackedMatching(const Study& study, const Model& model, Section* section) {
  const Dataset data = ThinSplit(study.data, Split::kTest, study.quick ? 24 : 64, study.seed);
  const std::vector<FeatureMatrix> rows = experiment::ModalityRows(data, Split::kTest);
  const NormalisationSpec cubic = NormalisationSpec::Polynomials(model.approximation);
  HEFT_ASSIGN_OR_RETURN(const PaperScores scores,
                        ScoreByPaperRoute(study.monitor, "packed gallery", model, cubic, rows));
  // The same z without normalisation: the key owner divides, or takes the distance.
  HEFT_ASSIGN_OR_RETURN(
      const PaperScores deferred,
      ScoreByPaperRoute(study.monitor, "deferred normalisation", model,
                        NormalisationSpec::Deferred(model.approximation.interval), rows));
  Model linear = model;
  linear.approximation.stages = {Polynomial{{1}}};
  const int64_t n = rows[0].rows();
  FeatureMatrix templates(n, model.gamma), z(n, model.gamma);
  for (int64_t i = 0; i < n; ++i) {
    Vectors sample;
    for (const FeatureMatrix& m : rows) sample.emplace_back(m.row(i).begin(), m.row(i).end());
    std::ranges::copy(PlainTemplate(model, sample), templates.row(i).begin());
    std::ranges::copy(PlainTemplate(linear, sample), z.row(i).begin());
  }
  const FeatureMatrix plain = templates * templates.transpose(), products = z * z.transpose();
  const auto cosine = [](const FeatureMatrix& s) {
    return [&s](int64_t i, int64_t j) { return DeferredCosine(s(i, j), s(i, i), s(j, j)); };
  };
  const auto distance = [](const FeatureMatrix& s) {
    return [&s](int64_t i, int64_t j) {
      return std::sqrt(std::max(0.0, s(i, i) + s(j, j) - 2 * s(i, j)));
    };
  };
  Table table{.id = "matching",
              .caption =
                  "Scores of all pairs of the same samples, dense encoding, packed gallery "
                  "with fold rotations.",
              .columns = {{"matching", "Matching"},
                          {"pairs", "Pairs", Format::kCount},
                          {"error", "Error of a score", Format::kSmall},
                          {"predicted", "predicted", Format::kSmall}}};
  const int64_t pairs = n * (n - 1) / 2;
  table.rows = {{"packed gallery (paper), cubic", pairs, Worst(n, scores.scores, plain),
                 scores.predicted_error},
                // An error e of a product and of both norms: at most 2 e of the cosine of vectors
                // of length one.
                {"packed gallery, deferred exact cosine", pairs,
                 Worst(n, cosine(deferred.scores), cosine(products)),
                 2 * deferred.predicted_error / products.diagonal().minCoeff()},
                {"packed gallery, Euclidean distance of z", pairs,
                 Worst(n, distance(deferred.scores), distance(products)), nullptr}};
  section->tables.push_back(std::move(table));
  section->parameters.emplace_back("packed gallery", scores.parameters);
  section->parameters.emplace_back("deferred normalisation", deferred.parameters);
  return absl::OkStatus();
}

// TestIdentities: the first people of the test split with two samples or more a modality.
std::vector<std::string> TestIdentities(const Dataset& data, size_t people) {
  std::vector<std::string> identities;
  for (int row : RowsOf(data.split, Split::kTest)) {
    const std::string& label = data.labels[row];
    if (identities.size() == people) break;
    if (std::count(identities.begin(), identities.end(), label) == 0 &&
        SamplesOf(data, label, 0, 3).size() > 1 && SamplesOf(data, label, 1, 3).size() > 1) {
      identities.push_back(label);
    }
  }
  return identities;
}

// AddProtocols: enrolment, identification and verification of `identities`.
absl::Status AddProtocols(const Study& study, const Model& model,
                          const std::vector<std::string>& identities, Section* section) {
  HEFT_ASSIGN_OR_RETURN(const std::unique_ptr<Roles> roles, Roles::Create(model));
  ProtocolTrial trial(*roles);
  Progress progress(study.monitor, "protocols");
  std::vector<Vectors> probes;
  for (const std::string& identity : identities) {
    HEFT_RETURN_IF_ERROR(progress.Step(probes.size(), 2 * identities.size()));
    Vectors faces = SamplesOf(study.data, identity, 0, 4),
            voices = SamplesOf(study.data, identity, 1, 9);
    probes.push_back({faces[0], voices[0]});
    faces.erase(faces.begin());
    voices.erase(voices.begin());
    HEFT_RETURN_IF_ERROR(trial.Enrol(identity, {faces, voices}));
  }
  ProtocolTrial::Answer identification, verification;
  for (size_t i = 0; i < identities.size(); ++i) {
    HEFT_RETURN_IF_ERROR(progress.Step(identities.size() + i, 2 * identities.size()));
    HEFT_RETURN_IF_ERROR(trial.Identify(identities[i], probes[i], &identification));
    HEFT_RETURN_IF_ERROR(trial.Verify(identities[i], probes[i], &verification));
  }
  HEFT_ASSIGN_OR_RETURN(const double one_ms, trial.FuseOneMs());
  section->text = {absl::StrFormat(
      "%d people of the test split, their sets encrypted separately; all pairs of a class "
      "enrolled, %d templates. The first sample of each modality was kept out as the probe: %d of "
      "%d were identified by the best score (no training went into this projection).",
      identities.size(), trial.templates(), identification.right, identities.size())};
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
  section->tables.push_back(std::move(table));
  Table enrolment{
      .id = "all_pairs",
      .caption =
          "The projection is linear: each sample is projected once, and a pair costs an "
          "addition and a normalisation.",
      .columns = {{"how", "Enrolment of all pairs"}, {"ms", "ms a pair", Format::kMilliseconds}}};
  enrolment.rows = {{"projected once a sample", trial.fuse_ms() / trial.templates()},
                    {"each pair fused by itself", one_ms}};
  section->tables.push_back(std::move(enrolment));
  section->parameters = {{"gallery", roles->params().Describe()}};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Section> Protocols(const Study& study) {
  Section section{.id = "protocols",
                  .title = "Matching and protocols",
                  .paper = "Sections “Protocols” and “Encrypted Template Fusion and Matching”"};
  if (study.data.modalities.size() != 2) {
    section.text = {"Needs two modalities."};
    return section;
  }
  HEFT_ASSIGN_OR_RETURN(const Model model, QuickModel(study));
  const std::vector<std::string> identities = TestIdentities(study.data, study.quick ? 3 : 12);
  HEFT_RETURN_IF_ERROR(AddProtocols(study, model, identities, &section));
  HEFT_RETURN_IF_ERROR(AddPackedMatching(study, model, &section));
  section.notes = {"The paper gives no numbers for its protocols."};
  return section;
}

}  // namespace heft::paper
