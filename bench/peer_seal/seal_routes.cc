// SPDX-License-Identifier: Apache-2.0
#include <seal/util/config.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>

#include "bench/peer_seal/route.h"
#include "bench/peer_seal/seal_party.h"

namespace heft::bench {
namespace {

// value(t) in slot t.
template <typename F>
auto Slots(size_t count, F value) {
  std::vector<std::decay_t<decltype(value(0))>> slots(count);
  for (size_t t = 0; t < count; ++t) slots[t] = value(t);
  return slots;
}

// Powers of two from `from` down to `to`.
std::vector<int> HalvingSteps(int from, int to) {
  std::vector<int> steps;
  for (int k = from; k >= to; k /= 2) steps.push_back(k);
  return steps;
}

std::vector<int> Join(std::initializer_list<std::vector<int>> lists) {
  std::vector<int> all;
  for (const std::vector<int>& list : lists) all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// --- The paper's schedule ---

class PaperRoute : public Route {
 public:
  explicit PaperRoute(const Workload& workload);
  void Fuse() override;
  void Match() override;
  double WorstError() const override;

 private:
  static constexpr size_t kDegree = 16384;
  static constexpr double kScale = 0x1p40;
  static constexpr size_t kTop = 9;      // primes of a fresh ciphertext
  static constexpr size_t kGallery = 3;  // of a stored template: the mask has taken one

  seal::Ciphertext Project() const;
  seal::Ciphertext Normalise(seal::Ciphertext z) const;

  uint32_t gamma_;
  int offset_;
  std::vector<int> projection_folds_, template_folds_;
  SealParty party_;
  std::vector<double> expected_;
  std::vector<seal::Plaintext> diagonals_;
  std::array<seal::Plaintext, 3> coefficients_;
  seal::Ciphertext first_, second_, probe_;
  std::vector<seal::Ciphertext> gallery_, scores_;
};

PaperRoute::PaperRoute(const Workload& w)
    : gamma_(w.gamma),
      offset_(static_cast<int>(w.first.size())),
      projection_folds_(HalvingSteps(w.delta() / 2, w.gamma)),
      template_folds_(HalvingSteps(w.gamma / 2, 1)),
      party_(kDegree, {50, 40, 40, 40, 40, 40, 40, 40, 40, 50},
             Join({{-offset_, 1}, projection_folds_, template_folds_})),
      expected_(w.expected) {
  const size_t slots = party_.slots();
  const uint32_t delta = w.delta();
  for (uint32_t i = 0; i < gamma_; ++i) {
    auto entry = [&](size_t t) { return w.projection[t % gamma_ * delta + (t + i) % delta]; };
    diagonals_.push_back(party_.Encode(Slots(slots, entry), kScale, kTop));
  }
  // Levels: projection 9 -> 8, s 7, c2 s 6, times s 5, times z 4.
  coefficients_[2] = party_.Encode(w.quadratic[2], kScale, kTop - 2);
  coefficients_[1] = party_.Encode(w.quadratic[1], kScale, kTop - 3);
  coefficients_[0] = party_.Encode(w.quadratic[0], kScale, kTop - 4);

  auto encrypt = [&](const std::vector<double>& v) {
    auto entry = [&](size_t t) { return t % delta < v.size() ? v[t % delta] : 0.0; };
    return party_.Encrypt(Slots(slots, entry), kScale, kTop);
  };
  first_ = encrypt(w.first);
  second_ = encrypt(w.second);
  const size_t per_ciphertext = slots / gamma_;
  for (size_t at = 0; at < w.gallery.size(); at += per_ciphertext) {
    auto entry = [&](size_t t) {
      const size_t index = at + t / gamma_;
      return index < w.gallery.size() ? w.gallery[index][t % gamma_] : 0.0;
    };
    gallery_.push_back(party_.Encrypt(Slots(slots, entry), kScale, kGallery));
  }
}

seal::Ciphertext PaperRoute::Project() const {
  const seal::Evaluator& evaluator = party_.evaluator();
  seal::Ciphertext vector = second_;
  party_.Rotate(-offset_, &vector);
  evaluator.add_inplace(vector, first_);
  seal::Ciphertext sum, term;
  for (uint32_t i = 0; i < gamma_; ++i) {
    if (i > 0) party_.Rotate(1, &vector);
    evaluator.multiply_plain(vector, diagonals_[i], term);
    evaluator.rescale_to_next_inplace(term);
    if (i == 0) {
      sum = term;
    } else {
      evaluator.add_inplace(sum, term);
    }
  }
  for (int step : projection_folds_) party_.Fold(step, &sum);
  return sum;
}

// Like the published code, takes every rescaled scale for 2^40: a relative error of about 1e-6.
seal::Ciphertext PaperRoute::Normalise(seal::Ciphertext z) const {
  const seal::Evaluator& evaluator = party_.evaluator();
  seal::Ciphertext s;
  evaluator.square(z, s);
  party_.RelinearizeRescale(&s);
  for (int step : template_folds_) party_.Fold(step, &s);
  s.scale() = kScale;

  seal::Ciphertext f;
  evaluator.multiply_plain(s, coefficients_[2], f);
  evaluator.rescale_to_next_inplace(f);
  f.scale() = kScale;
  evaluator.add_plain_inplace(f, coefficients_[1]);
  evaluator.mod_switch_to_inplace(s, f.parms_id());
  evaluator.multiply_inplace(f, s);
  party_.RelinearizeRescale(&f);
  f.scale() = kScale;
  evaluator.add_plain_inplace(f, coefficients_[0]);
  evaluator.mod_switch_to_inplace(z, f.parms_id());
  evaluator.multiply_inplace(z, f);
  party_.RelinearizeRescale(&z);
  return z;
}

void PaperRoute::Fuse() { probe_ = Normalise(Project()); }

void PaperRoute::Match() {
  const seal::Evaluator& evaluator = party_.evaluator();
  evaluator.mod_switch_to_inplace(probe_, party_.Level(kGallery));
  scores_.resize(gallery_.size());
  for (size_t i = 0; i < gallery_.size(); ++i) {
    evaluator.multiply(gallery_[i], probe_, scores_[i]);
    party_.RelinearizeRescale(&scores_[i]);
    for (int step : template_folds_) party_.Fold(step, &scores_[i]);
  }
}

double PaperRoute::WorstError() const {
  double worst = 0;
  const size_t per_ciphertext = party_.slots() / gamma_;
  for (size_t c = 0; c < scores_.size(); ++c) {
    const std::vector<double> slots = party_.Decrypt(scores_[c]);
    const size_t count = std::min(per_ciphertext, expected_.size() - c * per_ciphertext);
    for (size_t i = 0; i < count; ++i) {
      worst = std::max(worst, std::abs(slots[i * gamma_] - expected_[c * per_ciphertext + i]));
    }
  }
  return worst;
}

// --- Improved schedules ---

class ImprovedRoute : public Route {
 public:
  ImprovedRoute(const Workload& workload, ProbeLayout layout);
  void Fuse() override;
  void Match() override;
  double WorstError() const override;

 private:
  static constexpr size_t kDegree = 8192;
  static constexpr size_t kSlots = kDegree / 2;
  static constexpr double kScale = 0x1p28;
  // Primes: fresh, z, s, (s + a)^2, a template; the scores have one.
  static constexpr size_t kTop = 6, kZ = 5, kS = 4, kSquare = 3, kTemplate = 2;

  bool compact() const { return layout_ == ProbeLayout::kCompact; }
  void EncodeFactors(const Workload& workload);
  void EncryptProbe(const Workload& workload);
  void EncryptGallery(const Workload& workload);
  // The column of P that meets slot t; in the compact layout, the column within each modality.
  size_t Column(size_t t) const {
    return compact() ? products_ * (t / gamma_) + t % products_ : t % delta_;
  }
  seal::Ciphertext Project() const;
  seal::Ciphertext Normalise(seal::Ciphertext z) const;

  ProbeLayout layout_;
  uint32_t gamma_, delta_;
  uint32_t products_;  // of a rotation of the probe and a factor
  uint32_t babies_;    // rotations by 0 ... babies - 1; the rest is done by giant steps
  uint32_t width_;     // slots of a stored template
  std::vector<int> projection_folds_, norm_folds_, score_folds_;
  double leading_;
  double s_scale_ = 0, square_scale_ = 0;
  SealParty party_;
  std::vector<double> expected_;
  std::vector<seal::Plaintext> factors_;
  seal::Plaintext monomial_;  // X^(N/2), which multiplies slot j by i (-1)^j
  seal::Plaintext a_, b_;
  seal::Ciphertext first_, second_, probe_, scores_;
  std::vector<seal::Ciphertext> gallery_;
};

ImprovedRoute::ImprovedRoute(const Workload& w, ProbeLayout layout)
    : layout_(layout),
      gamma_(w.gamma),
      delta_(w.delta()),
      products_(compact() ? delta_ / 2 * gamma_ / kSlots : gamma_),
      babies_(std::min(products_, 8u)),
      width_(kSlots / w.gallery.size()),
      projection_folds_(HalvingSteps(compact() ? kSlots / 2 : delta_ / 2, gamma_)),
      norm_folds_(HalvingSteps(gamma_ / 2, 1)),
      score_folds_(HalvingSteps(width_ / 2, 1)),
      leading_(w.quadratic[2]),
      party_(kDegree, {33, 28, 28, 28, 28, 28, 40},
             Join({{1, static_cast<int>(babies_), static_cast<int>(width_)},
                   compact() ? std::vector<int>{kConjugation} : std::vector<int>{},
                   projection_folds_,
                   norm_folds_,
                   score_folds_})),
      expected_(w.expected) {
  EncodeFactors(w);
  EncryptProbe(w);
  EncryptGallery(w);
  // c2 ((s + a)^2 + b).
  const double a = w.quadratic[1] / (2 * leading_);
  s_scale_ = kScale * kScale / party_.LastPrime(kZ);
  square_scale_ = s_scale_ * s_scale_ / party_.LastPrime(kS);
  a_ = party_.Encode(a, s_scale_, kS);
  b_ = party_.Encode(w.quadratic[0] / leading_ - a * a, square_scale_, kSquare);
}

// Factor i at slot t meets the probe's slot t + i. A giant step rotates the sum of its products.
void ImprovedRoute::EncodeFactors(const Workload& w) {
  using Complex = std::complex<double>;
  for (uint32_t i = 0; i < products_; ++i) {
    const size_t giant = i / babies_ * babies_;
    auto factor = [&](size_t t) -> Complex {
      const size_t at = (t + kSlots - giant) % kSlots;
      const size_t met = (at + i) % kSlots;
      const double* const row = &w.projection[at % gamma_ * delta_];
      if (!compact()) return row[Column(met)];
      const double sign = met % 2 == 0 ? 1 : -1;
      return 0.5 * Complex(row[Column(met)], -sign * row[Column(met) + w.first.size()]);
    };
    // The scale that a rescale takes away again.
    factors_.push_back(party_.Encode(Slots(kSlots, factor), party_.LastPrime(kTop), kTop));
  }
  auto imaginary = [](size_t t) { return Complex(0, t % 2 == 0 ? 1 : -1); };
  monomial_ = party_.Encode(Slots(kSlots, imaginary), 1, kTop);
}

void ImprovedRoute::EncryptProbe(const Workload& w) {
  auto encrypt = [&](const std::vector<double>& v, size_t offset) {
    auto value = [&](size_t t) {
      const size_t j = Column(t);
      return j >= offset && j - offset < v.size() ? v[j - offset] : 0.0;
    };
    return party_.Encrypt(Slots(kSlots, value), kScale, kTop);
  };
  first_ = encrypt(w.first, 0);
  second_ = encrypt(w.second, compact() ? 0 : w.first.size());
}

// Template j owns `width` slots; ciphertext k holds the entries that meet the probe rotated by
// k * width.
void ImprovedRoute::EncryptGallery(const Workload& w) {
  for (uint32_t k = 0; k < gamma_ / width_; ++k) {
    auto entry = [&](size_t t) { return w.gallery[t / width_][(t + k * width_) % gamma_]; };
    gallery_.push_back(party_.Encrypt(Slots(kSlots, entry), kScale, kTemplate));
  }
}

seal::Ciphertext ImprovedRoute::Project() const {
  const seal::Evaluator& evaluator = party_.evaluator();
  std::vector<seal::Ciphertext> rotations(babies_);
  rotations[0] = second_;
  if (compact()) evaluator.multiply_plain_inplace(rotations[0], monomial_);
  evaluator.add_inplace(rotations[0], first_);
  for (uint32_t i = 1; i < babies_; ++i) {
    rotations[i] = rotations[i - 1];
    party_.Rotate(1, &rotations[i]);
  }
  seal::Ciphertext sum, term;
  for (int giant = static_cast<int>(products_ / babies_) - 1; giant >= 0; --giant) {
    if (sum.size() > 0) party_.Rotate(static_cast<int>(babies_), &sum);
    for (uint32_t i = 0; i < babies_; ++i) {
      evaluator.multiply_plain(rotations[i], factors_[giant * babies_ + i], term);
      if (sum.size() == 0) {
        sum = term;
      } else {
        evaluator.add_inplace(sum, term);
      }
    }
  }
  evaluator.rescale_to_next_inplace(sum);
  for (int step : projection_folds_) party_.Fold(step, &sum);
  if (compact()) party_.Fold(kConjugation, &sum);
  return sum;
}

seal::Ciphertext ImprovedRoute::Normalise(seal::Ciphertext z) const {
  const seal::Evaluator& evaluator = party_.evaluator();
  seal::Ciphertext s;
  evaluator.square(z, s);
  party_.RelinearizeRescale(&s);
  for (int step : norm_folds_) party_.Fold(step, &s);
  s.scale() = s_scale_;  // equal up to the last bit
  evaluator.add_plain_inplace(s, a_);
  evaluator.square_inplace(s);
  party_.RelinearizeRescale(&s);
  s.scale() = square_scale_;
  evaluator.add_plain_inplace(s, b_);
  evaluator.mod_switch_to_inplace(z, s.parms_id());
  evaluator.multiply_inplace(z, s);
  party_.RelinearizeRescale(&z);
  z.scale() /= leading_;
  return z;
}

void ImprovedRoute::Fuse() { probe_ = Normalise(Project()); }

void ImprovedRoute::Match() {
  const seal::Evaluator& evaluator = party_.evaluator();
  seal::Ciphertext term;
  for (size_t k = 0; k < gallery_.size(); ++k) {
    if (k > 0) party_.Rotate(static_cast<int>(width_), &probe_);
    evaluator.multiply(gallery_[k], probe_, k == 0 ? scores_ : term);
    if (k > 0) evaluator.add_inplace(scores_, term);
  }
  party_.RelinearizeRescale(&scores_);
  for (int step : score_folds_) party_.Fold(step, &scores_);
}

double ImprovedRoute::WorstError() const {
  const std::vector<double> slots = party_.Decrypt(scores_);
  double worst = 0;
  for (size_t i = 0; i < expected_.size(); ++i) {
    worst = std::max(worst, std::abs(slots[i * width_] - expected_[i]));
  }
  return worst;
}

}  // namespace

std::string SealVersion() { return SEAL_VERSION; }

bool SealUsesHexl() {
#ifdef SEAL_USE_INTEL_HEXL
  return true;
#else
  return false;
#endif
}

std::unique_ptr<Route> MakePaperRoute(const Workload& workload) {
  return std::make_unique<PaperRoute>(workload);
}

std::unique_ptr<Route> MakeImprovedRoute(const Workload& workload, ProbeLayout layout) {
  return std::make_unique<ImprovedRoute>(workload, layout);
}

}  // namespace heft::bench
