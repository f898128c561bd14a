// SPDX-License-Identifier: Apache-2.0
#include "ckks/chebyshev.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"

namespace heft::ckks {
namespace {

// Evaluator: T_1, T_2, T_4, ... of t, with T_(2^i) i limbs below T_1, and sums of them.
class Evaluator {
 public:
  Evaluator(const Context& context, const EvaluationKeys& keys) : context_(context), keys_(keys) {}

  // MakePowers: the slots of `t` are in about [-1, 1].
  absl::Status MakePowers(Ciphertext t, int degree) {
    t.noise.message = 1;
    powers_[1] = std::move(t);
    for (int k = 2; k <= degree; k *= 2) {
      Ciphertext square;  // T_2k = 2 T_k^2 - 1
      HEFT_RETURN_IF_ERROR(Square(context_, &square, powers_[k / 2]));
      MultiplyInteger(context_, &square, square, 2);
      HEFT_RETURN_IF_ERROR(RelineariseAndRescale(context_, &square, square, keys_));
      HEFT_RETURN_IF_ERROR(AddConstant(context_, &square, square, -1));
      square.noise.message = 1;
      powers_[k] = std::move(square);
    }
    return absl::OkStatus();
  }

  // Evaluate: sum_k c[k] T_k with `limbs` limbs at exactly `scale`.
  absl::StatusOr<Ciphertext> Evaluate(std::span<const double> c, size_t limbs, double scale) const {
    const int degree = static_cast<int>(c.size()) - 1;
    const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(degree)));
    // c = q T_power + r, by T_(power + j) = 2 T_j T_power - T_(power - j).
    std::vector<double> q(degree - power + 1), r(c.begin(), c.begin() + power);
    q[0] = c[power];
    for (int j = 1; power + j <= degree; ++j) {
      q[j] = 2 * c[power + j];
      r[power - j] -= c[power + j];
    }
    HEFT_ASSIGN_OR_RETURN(Ciphertext sum, Product(q, power, limbs, scale));
    double largest = 0;
    for (double value : c) largest += std::abs(value);
    if (r.size() > 1) {
      HEFT_ASSIGN_OR_RETURN(const Ciphertext rest, Evaluate(r, limbs, scale));
      HEFT_RETURN_IF_ERROR(Add(context_, &sum, sum, rest));
    } else {
      HEFT_RETURN_IF_ERROR(AddConstant(context_, &sum, sum, r[0]));
    }
    sum.noise.message = largest;
    return sum;
  }

 private:
  // Product: q T_power.
  absl::StatusOr<Ciphertext> Product(std::span<const double> q, int power, size_t limbs,
                                     double scale) const {
    const double wide = scale * context_.modulus(limbs).value();  // before the rescale
    Ciphertext t;
    HEFT_RETURN_IF_ERROR(DropLimbs(context_, &t, powers_.at(power), limbs + 1));
    if (q.size() > 1) {
      HEFT_ASSIGN_OR_RETURN(const Ciphertext factor, Evaluate(q, limbs + 1, wide / t.scale));
      HEFT_RETURN_IF_ERROR(Multiply(context_, &t, t, factor));
      HEFT_RETURN_IF_ERROR(RelineariseAndRescale(context_, &t, t, keys_));
    } else {
      // The integer contains the constant and corrects the scale.
      const double factor = std::round(q[0] * wide / t.scale);
      if (!(std::abs(factor) < 0x1p62)) {
        return absl::InvalidArgumentError(
            absl::StrCat("a coefficient of ", q[0], " does not fit at scale 2^", std::log2(scale)));
      }
      const double rounding = 0.5 * t.scale;  // times |T| <= 1
      MultiplyInteger(context_, &t, t, static_cast<int64_t>(factor));
      t.scale = wide;
      t.noise = {std::abs(q[0]), Combine(t.noise.error, rounding)};
      HEFT_RETURN_IF_ERROR(Rescale(context_, &t, t));
    }
    t.scale = scale;
    return t;
  }

  const Context& context_;
  const EvaluationKeys& keys_;
  std::map<int, Ciphertext> powers_;
};

}  // namespace

size_t ChebyshevLevels(int degree) {
  return static_cast<size_t>(std::bit_width(static_cast<unsigned>(degree)));
}

absl::StatusOr<Ciphertext> EvaluateChebyshev(const Context& context, const Ciphertext& x,
                                             std::span<const double> coefficients, double centre,
                                             double half_width, size_t limbs, double scale,
                                             const EvaluationKeys& keys) {
  while (coefficients.size() > 1 && coefficients.back() == 0) {
    coefficients = coefficients.first(coefficients.size() - 1);
  }
  if (coefficients.size() < 2 || !(half_width > 0)) {
    return absl::InvalidArgumentError("a polynomial without degree, or on an empty interval");
  }
  const int degree = static_cast<int>(coefficients.size()) - 1;
  if (limbs < 1 || limbs + ChebyshevLevels(degree) > x.limbs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("degree ", degree, " takes ", ChebyshevLevels(degree), " levels, from ",
                     x.limbs(), " limbs to ", limbs, ": use deeper parameters"));
  }
  Ciphertext t;
  HEFT_RETURN_IF_ERROR(AddConstant(context, &t, x, -centre));
  t.scale *= half_width;
  Evaluator evaluator(context, keys);
  HEFT_RETURN_IF_ERROR(evaluator.MakePowers(std::move(t), degree));
  return evaluator.Evaluate(coefficients, limbs, scale);
}

}  // namespace heft::ckks
