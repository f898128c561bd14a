// SPDX-License-Identifier: Apache-2.0
// People who do not exist, for canaries.
#include <cmath>
#include <numbers>
#include <optional>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/csprng.h"
#include "base/identity.h"
#include "owner/canaries.h"

namespace heft {
namespace {

using Vector = std::vector<double>;
using Vectors = std::vector<Vector>;  // one a modality

constexpr int kTries = 4000;
// Squared norms keep this clear of the interval's ends, in parts of its length.
constexpr double kClear = 0.05;

double Uniform(Csprng& rng) { return (rng.U32() + 0.5) * 0x1p-32; }

double Gaussian(Csprng& rng) {
  return std::sqrt(-2 * std::log(Uniform(rng))) * std::cos(2 * std::numbers::pi * Uniform(rng));
}

Vector Gaussians(size_t size, Csprng& rng) {
  Vector out(size);
  for (double& v : out) v = Gaussian(rng);
  return out;
}

double Dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// x a + y b.
Vector Combine(double x, const Vector& a, double y, const Vector& b) {
  Vector out(a.size());
  for (size_t i = 0; i < a.size(); ++i) out[i] = x * a[i] + y * b[i];
  return out;
}

Vector Unit(const Vector& v) { return Combine(1 / std::sqrt(Dot(v, v)), v, 0, v); }

class Projection {
 public:
  explicit Projection(const Model& model) : model_(model) {}

  // The fused vector of unit vectors.
  Vector Apply(const Vectors& x) const {
    Vector z(model_.gamma, 0.0);
    ForEach([&](size_t row, size_t m, size_t i, double p) { z[row] += p * x[m][i]; });
    return z;
  }
  // Directions in which the projection is long: its transpose, applied to `g`.
  Vectors Back(const Vector& g) const {
    Vectors out;
    for (const ModalitySpec& modality : model_.modalities)
      out.emplace_back(modality.dimension, 0.0);
    ForEach([&](size_t row, size_t m, size_t i, double p) { out[m][i] += p * g[row]; });
    return out;
  }

 private:
  template <typename Use>
  void ForEach(const Use& use) const {
    size_t at = 0;
    for (size_t row = 0; row < model_.gamma; ++row) {
      for (size_t m = 0; m < model_.modalities.size(); ++m) {
        for (size_t i = 0; i < model_.modalities[m].dimension; ++i) {
          use(row, m, i, model_.projection[at++]);
        }
      }
    }
  }
  const Model& model_;
};

// A random person: between one that the projection hardly sees and one that it sees best.
Vectors Draw(const Model& model, const Projection& projection, Csprng& rng) {
  Vector g = Gaussians(model.gamma, rng);
  // Once through the projection and back: norms after the projection are above their mean.
  if (Uniform(rng) < 0.5) g = projection.Apply(projection.Back(g));
  const Vectors seen = projection.Back(g);
  const double share = Uniform(rng);
  Vectors out;
  for (size_t m = 0; m < seen.size(); ++m) {
    const Vector other = Unit(Gaussians(seen[m].size(), rng));
    out.push_back(Unit(Combine(share, Unit(seen[m]), 1 - share, other)));
  }
  return out;
}

// Three people: the third is a combination of the others. None if a norm is outside the interval.
struct Trio {
  std::array<Vectors, 3> x;
  Canaries::Triple triple;
};
std::optional<Trio> DrawTrio(const Model& model, const Projection& projection, Csprng& rng) {
  const Interval& all = model.approximation.interval;
  const double clear = kClear * (all.hi - all.lo);
  const Interval interval = {all.lo + clear, all.hi - clear};
  Trio out;
  const double angle = std::numbers::pi * (0.2 + 0.1 * Uniform(rng));
  const double weight[] = {std::cos(angle), std::sin(angle)};
  out.x[0] = Draw(model, projection, rng);
  out.x[1] = Draw(model, projection, rng);
  for (size_t m = 0; m < out.x[0].size(); ++m) {
    // Orthogonal in each modality, so that the combination has length 1 there.
    const Vector& first = out.x[0][m];
    Vector& second = out.x[1][m];
    if (first.size() < 2) return std::nullopt;
    second = Unit(Combine(1, second, -Dot(first, second), first));
    out.x[2].push_back(Combine(weight[0], first, weight[1], second));
  }
  std::array<double, 3> f{};
  for (size_t i = 0; i < 3; ++i) {
    Vector& z = out.triple.people[i].z;
    z = projection.Apply(out.x[i]);
    const double s = Dot(z, z);
    if (!interval.Contains(s)) return std::nullopt;
    f[i] = model.approximation(s);
  }
  out.triple.a = weight[0] * f[2] / f[0];
  out.triple.b = weight[1] * f[2] / f[1];
  return out;
}

std::string RandomName(Csprng& rng) {
  std::array<uint8_t, 8> bytes;
  rng.Fill(bytes);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

CanarySet::Person PersonOf(std::string label, const Vectors& x) {
  CanarySet::Person out;
  out.label = std::move(label);
  for (const Vector& v : x) out.vectors.emplace_back(v.begin(), v.end());
  return out;
}

absl::Status NormaliseNames(size_t triples, std::vector<std::string>* given) {
  std::vector<std::string>& names = *given;
  if (names.size() != 3 * triples) {
    return absl::InvalidArgumentError(
        absl::StrCat(names.size(), " names for ", 3 * triples, " canaries"));
  }
  for (std::string& name : names) {
    HEFT_ASSIGN_OR_RETURN(name, NormalIdentity(name));
  }
  if (std::set<std::string>(names.begin(), names.end()).size() == names.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("canaries need a name each");
}

}  // namespace

absl::StatusOr<Canaries> Canaries::Make(const Model& model, size_t triples,
                                        std::vector<std::string> names, CanarySet* set) {
  if (triples < 1 || triples > 1000) {
    return absl::InvalidArgumentError("1 to 1000 triples of canaries");
  }
  Csprng rng;
  if (names.empty()) {
    for (size_t i = 0; i < 3 * triples; ++i) names.push_back(RandomName(rng));
  }
  HEFT_RETURN_IF_ERROR(NormaliseNames(triples, &names));
  const Projection projection(model);
  Canaries out;
  CanarySet people;
  for (size_t t = 0; t < triples; ++t) {
    std::optional<Trio> trio;
    for (int tries = 0; !trio && tries < kTries; ++tries) trio = DrawTrio(model, projection, rng);
    if (!trio) {
      return absl::FailedPreconditionError(
          "no synthetic people are found whose norms lie in the model's interval: train it on more "
          "data, or go without canaries");
    }
    for (size_t i = 0; i < 3; ++i) {
      trio->triple.people[i].name = names[3 * t + i];
      people.people.push_back(PersonOf(names[3 * t + i], trio->x[i]));
    }
    const auto who = static_cast<uint32_t>(rng.U32() % 3);
    const std::string label = RandomName(rng);
    out.probes_.push_back({label, static_cast<uint32_t>(t), who});
    people.probes.push_back(PersonOf(label, trio->x[who]));
    out.triples_.push_back(std::move(trio->triple));
  }
  out.Index();
  *set = std::move(people);
  return out;
}

}  // namespace heft
