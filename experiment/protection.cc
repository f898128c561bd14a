// SPDX-License-Identifier: Apache-2.0
#include "experiment/protection.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "evaluation/metrics.h"
#include "experiment/linkage_functions.h"
#include "experiment/systems.h"
#include "experiment/two_keys.h"
#include "features/decompositions.h"
#include "learning/projection.h"

namespace heft::experiment {
namespace {

using ckks::Ciphertext;

constexpr int kShuffles = 100;

class Study {
 public:
  Study(const Monitor& monitor, const Dataset& dataset, const Model& model, Split split,
        const ProtectionOptions& options)
      : monitor_(monitor), dataset_(dataset), model_(model), split_(split) {
    out_.options = options;
    out_.gamma = model.gamma;
    out_.profile = model.profile;
  }

  absl::StatusOr<ProtectionStudy> Run() {
    HEFT_RETURN_IF_ERROR(Choose());
    HEFT_ASSIGN_OR_RETURN(first_, EnrolUnderKey(monitor_, model_, samples_));
    HEFT_ASSIGN_OR_RETURN(second_, EnrolUnderKey(monitor_, model_, samples_));
    HEFT_RETURN_IF_ERROR(LinkWithoutKeys());
    HEFT_RETURN_IF_ERROR(LinkWithKeys());
    HEFT_RETURN_IF_ERROR(Invert());
    HEFT_RETURN_IF_ERROR(Leak());
    HEFT_RETURN_IF_ERROR(Renew());
    return std::move(out_);
  }

 private:
  // The samples, as many as are asked for, of people with two and more.
  absl::Status Choose() {
    std::map<std::string, std::vector<int>> by_person;
    for (const int row : RowsOf(dataset_.split, split_)) {
      by_person[dataset_.labels[static_cast<size_t>(row)]].push_back(row);
    }
    for (const auto& [label, rows] : by_person) {
      if (rows.size() < 2) continue;
      const size_t room = static_cast<size_t>(out_.options.samples) - rows_.size();
      if (room < 2) break;
      for (size_t i = 0; i < std::min(rows.size(), room); ++i) {
        rows_.push_back(rows[i]);
        people_.push_back(out_.people);
      }
      ++out_.people;
    }
    if (out_.people < 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "split \"", SplitName(split_), "\" has fewer than two people with two samples each"));
    }
    out_.samples = static_cast<int>(rows_.size());
    for (const int row : rows_) {
      Vectors& sample = samples_.emplace_back();
      for (const Modality& m : dataset_.modalities) {
        const auto values = m.features.row(row);
        sample.emplace_back(values.data(), values.data() + values.size());
      }
    }
    known_ = RowsOf(dataset_.split, Split::kTrain);
    if (known_.size() >= 2) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "there are no people of the training split, whose data an attacker may know");
  }

  // Mated: the same sample, the easiest to link; or other samples of the same person.
  PairKinds SameSample() const {
    return [this](int a, int b) {
      if (a == b) return PairKind::kMated;
      return Same(a, b) ? PairKind::kNeither : PairKind::kNonMated;
    };
  }
  PairKinds OtherSample() const {
    return [this](int a, int b) {
      if (a == b) return PairKind::kNeither;
      return Same(a, b) ? PairKind::kMated : PairKind::kNonMated;
    };
  }
  bool Same(int a, int b) const {
    return people_[static_cast<size_t>(a)] == people_[static_cast<size_t>(b)];
  }

  absl::Status Link(Stolen stolen, const std::string& what, const FeatureMatrix& scores,
                    const PairKinds& kinds) {
    LinkRow& row = out_.links.emplace_back();
    row.stolen = stolen;
    row.what = what;
    HEFT_ASSIGN_OR_RETURN(row.linkage, MeasureLinkage(scores, kinds, kShuffles, out_.options.seed));
    return absl::OkStatus();
  }

  absl::Status LinkWithoutKeys() {
    const ckks::Context& context = first_.roles->context();
    const auto correlate = [&](size_t part, Form form, const ckks::Context& ring,
                               const std::vector<Ciphertext>& a, const std::vector<Ciphertext>& b) {
      return Correlations(Numbers(ring, a, part, 0, form), Numbers(ring, b, part, 0, form));
    };
    const auto& a = first_.templates;
    const auto& b = second_.templates;
    const auto kinds = SameSample();
    const auto none = Stolen::kNone;
    HEFT_RETURN_IF_ERROR(Link(none, "template, coefficients of the first part",
                              correlate(0, Form::kCoefficients, context, a, b), kinds));
    HEFT_RETURN_IF_ERROR(Link(none, "template, coefficients of the second part",
                              correlate(1, Form::kCoefficients, context, a, b), kinds));
    HEFT_RETURN_IF_ERROR(Link(none, "template, sizes of the first part's coefficients",
                              correlate(0, Form::kMagnitudes, context, a, b), kinds));
    HEFT_RETURN_IF_ERROR(Link(none, "template, values as stored in the file",
                              correlate(0, Form::kEvaluations, context, a, b), kinds));
    HEFT_RETURN_IF_ERROR(Link(none, "template, equal residues", EqualResidues(a, b), kinds));
    HEFT_RETURN_IF_ERROR(
        Link(none, "template, equal bits of its hash", EqualHashBits(context, a, b), kinds));
    HEFT_RETURN_IF_ERROR(Link(none, "template, its bytes' number, scale and stated noise",
                              Outside(context, a, b), kinds));
    const ckks::Context& large = first_.roles->enrolment().context();
    HEFT_RETURN_IF_ERROR(Link(none, "sample as it is sent, coefficients of the first part",
                              correlate(0, Form::kCoefficients, large, first_.sent, second_.sent),
                              kinds));
    return Link(none, "two galleries of the same people, ciphertext by ciphertext",
                BlockCorrelations(first_.block, second_.block), SameCiphertext);
  }

  static PairKind SameCiphertext(int a, int b) {
    return a == b ? PairKind::kMated : PairKind::kNonMated;
  }
  FeatureMatrix BlockCorrelations(const TiledCiphertexts& a, const TiledCiphertexts& b) const {
    const ckks::Context& context = first_.roles->context();
    const auto x = BlockCiphertexts(*first_.roles, a), y = BlockCiphertexts(*first_.roles, b);
    return Correlations(Numbers(context, x, 0, 0, Form::kCoefficients),
                        Numbers(context, y, 0, 0, Form::kCoefficients));
  }

  absl::Status LinkWithKeys() {
    const Roles &first = *first_.roles, &second = *second_.roles;
    opened_ = Opened(first, first_.templates);
    const FeatureMatrix other = Opened(second, second_.templates);
    const FeatureMatrix wrong = Opened(first, second_.templates);
    HEFT_RETURN_IF_ERROR(Link(Stolen::kOne, "one decrypted, the other decrypted with the same key",
                              Unit(opened_) * Unit(wrong).transpose(), SameSample()));
    HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> encoded,
                          Encoded(first, opened_, second_.templates[0]));
    HEFT_RETURN_IF_ERROR(
        Link(Stolen::kOne, "one decrypted, the other re-encrypted and compared by coefficients",
             Correlations(Numbers(first.context(), encoded, 0, 0, Form::kCoefficients),
                          Numbers(first.context(), second_.templates, 0, 0, Form::kCoefficients)),
             SameSample()));
    const FeatureMatrix cosines = Unit(opened_) * Unit(other).transpose();
    HEFT_RETURN_IF_ERROR(
        Link(Stolen::kBoth, "both decrypted: their cosine", cosines, OtherSample()));
    HEFT_ASSIGN_OR_RETURN(const Linkage own,
                          MeasureLinkage(Unit(opened_) * Unit(opened_).transpose(), OtherSample(),
                                         10, out_.options.seed));
    out_.matcher = own.found;
    return absl::OkStatus();
  }

  static FeatureMatrix Unit(const FeatureMatrix& rows) { return rows.rowwise().normalized(); }

  // Templates of rows in the clear.
  absl::StatusOr<FeatureMatrix> Templates(const std::vector<int>& rows) const {
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features, Concatenate(dataset_, rows));
    return ProjectAndNormalise(ProjectionOf(model_), features, {model_.approximation});
  }

  absl::Status Invert() {
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix known_templates, Templates(known_));
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix known_vectors, Concatenate(dataset_, known_));
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix vectors, Concatenate(dataset_, rows_));
    const Eigen::MatrixXd shortest = ShortestSolution(ProjectionOf(model_), opened_.transpose());
    Eigen::Index column = 0;
    for (const ModalitySpec& m : model_.modalities) {
      const auto width = static_cast<Eigen::Index>(m.dimension);
      InvertRow& row = out_.inversions.emplace_back();
      row.modality = m.name;
      HEFT_ASSIGN_OR_RETURN(
          row.learned, InvertTemplates(known_templates, known_vectors.middleCols(column, width),
                                       opened_, vectors.middleCols(column, width)));
      for (Eigen::Index i = 0; i < vectors.rows(); ++i) {
        const Eigen::VectorXd guess = shortest.col(i).segment(column, width);
        const Eigen::VectorXd truth = vectors.row(i).segment(column, width).transpose();
        row.least_squares += guess.normalized().dot(truth.normalized()) / out_.samples;
      }
      column += width;
    }
    return absl::OkStatus();
  }

  // What the key owner publishes gives away, by the number of answers.
  absl::Status Leak() {
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix known, Templates(known_));
    Population people;
    people.known = Unit(known);
    std::vector<int> firsts;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (i == 0 || people_[i] != people_[i - 1]) firsts.push_back(static_cast<int>(i));
    }
    people.targets.resize(static_cast<Eigen::Index>(firsts.size()), opened_.cols());
    for (size_t i = 0; i < firsts.size(); ++i) {
      people.targets.row(static_cast<Eigen::Index>(i)) = Unit(opened_).row(firsts[i]);
    }
    out_.limits = DefaultLimits(model_);
    out_.figures = FiguresOf(model_);
    out_.fmr_1e3 = ImpostorThreshold(people, 1e-3);
    const double thresholds[] = {out_.fmr_1e3};
    std::set<int> counts = {0, 1, 2, 4, 8, 16, 32, static_cast<int>(out_.limits.scores)};
    std::erase_if(counts, [&](int k) { return k > static_cast<int>(model_.gamma); });
    const std::vector<int> answers(counts.begin(), counts.end());
    HEFT_ASSIGN_OR_RETURN(out_.from_scores, RecoverFromScores(people, Probes::kChosen, answers,
                                                              thresholds, out_.options.seed));
    const int decisions[] = {16, 32, 128, 1024};
    HEFT_ASSIGN_OR_RETURN(out_.from_decisions,
                          RecoverFromDecisions(people, decisions, out_.fmr_1e3, out_.options.seed));
    return absl::OkStatus();
  }

  absl::StatusOr<double> AurocOf(const FeatureMatrix& scores) const {
    ScoreSet pairs;
    for (int a = 0; a < static_cast<int>(scores.rows()); ++a) {
      for (int b = 0; b < static_cast<int>(scores.cols()); ++b) {
        if (a != b) (Same(a, b) ? pairs.genuine : pairs.impostor).push_back(scores(a, b));
      }
    }
    return Auroc(pairs);
  }

  absl::Status Renew() {
    Renewal& renewal = out_.renewal;
    renewal.key_bits = std::log2(3.0) * first_.roles->params().n();
    HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts moved,
                          Rekeyed(*first_.roles, *second_.roles, first_.block));
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix before, BlockScores(monitor_, *first_.roles, samples_,
                                                                  first_.block, samples_.size()));
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix after,
                          BlockScores(monitor_, *second_.roles, samples_, moved, samples_.size()));
    const FeatureMatrix gap = after - before;
    renewal.largest_gap = gap.cwiseAbs().maxCoeff();
    renewal.rms_gap = std::sqrt(gap.squaredNorm() / static_cast<double>(gap.size()));
    HEFT_ASSIGN_OR_RETURN(renewal.auroc_before, AurocOf(before));
    HEFT_ASSIGN_OR_RETURN(renewal.auroc_after, AurocOf(after));
    HEFT_ASSIGN_OR_RETURN(renewal.blocks,
                          MeasureLinkage(BlockCorrelations(first_.block, moved), SameCiphertext,
                                         kShuffles, out_.options.seed));
    return absl::OkStatus();
  }

  const Monitor& monitor_;
  const Dataset& dataset_;
  const Model& model_;
  const Split split_;
  std::vector<int> rows_, people_, known_;  // people_: of each row, from 0
  std::vector<Vectors> samples_;
  UnderKey first_, second_;
  FeatureMatrix opened_;  // templates under the first key, decrypted
  ProtectionStudy out_;
};

}  // namespace

absl::StatusOr<ProtectionStudy> StudyProtection(const Monitor& monitor, const Dataset& dataset,
                                                const Model& model, Split split,
                                                const ProtectionOptions& options) {
  if (options.samples < 4) return absl::InvalidArgumentError("give at least four samples");
  HEFT_ASSIGN_OR_RETURN(const Dataset selected, SelectModalities(dataset, model, dataset.folder));
  return Study(monitor, selected, model, split, options).Run();
}

}  // namespace heft::experiment
