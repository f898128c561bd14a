// SPDX-License-Identifier: Apache-2.0
// DoubleDouble: numbers of about 106 bits as unevaluated sums of two doubles (Dekker, "A
// floating-point technique for extending the available precision", 1971; Hida, Li and Bailey,
// "Algorithms for quad-double precision floating point arithmetic", 2001). No operation branches on
// a value, so values may be secret. Compile every includer with -ffp-contract=off: the algorithms
// rely on products that are rounded before they are added.
#ifndef HEFT_CKKS_DOUBLE_DOUBLE_H_
#define HEFT_CKKS_DOUBLE_DOUBLE_H_

#include <cmath>

namespace heft::ckks {

// DoubleDouble: high + low, |low| at most half a unit in the last place of high; |high| below
// 2^990.
struct DoubleDouble {
  double high = 0, low = 0;
};

// FastSum: exactly a + b, if |a| >= |b| or a = 0.
inline DoubleDouble FastSum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
// ExactSum, ExactProduct: exactly a + b and a b.
inline DoubleDouble ExactSum(double a, double b) {
  const double sum = a + b;
  const double rest = sum - a;
  return {sum, (a - (sum - rest)) + (b - rest)};
}
// Halves: two numbers of 26 bits each (Veltkamp).
inline DoubleDouble Halves(double a) {
  const double scaled = 0x8000001p0 * a;
  const double high = scaled - (scaled - a);
  return {high, a - high};
}
inline DoubleDouble ExactProduct(double a, double b) {
  // Not by std::fma, which branches on machines without the instruction.
  const double product = a * b;
  const DoubleDouble x = Halves(a), y = Halves(b);
  return {product, ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low};
}

inline DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }
inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  DoubleDouble high = ExactSum(a.high, b.high);
  const DoubleDouble low = ExactSum(a.low, b.low);
  high = FastSum(high.high, high.low + low.high);
  return FastSum(high.high, high.low + low.low);
}
inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }
inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = ExactProduct(a.high, b.high);
  return FastSum(product.high, product.low + (a.high * b.low + a.low * b.high));
}
inline DoubleDouble operator*(DoubleDouble a, double b) { return a * DoubleDouble{b, 0}; }

// Quotient, SquareRoot: one Newton step from the double's result; for public values.
inline DoubleDouble Quotient(DoubleDouble a, DoubleDouble b) {
  const double first = a.high / b.high;
  const DoubleDouble rest = a - b * first;
  return FastSum(first, rest.high / b.high);
}
inline DoubleDouble SquareRoot(DoubleDouble a) {
  const double first = std::sqrt(a.high);
  const DoubleDouble rest = a - ExactProduct(first, first);
  return FastSum(first, rest.high / (2 * first));
}

}  // namespace heft::ckks

#endif  // HEFT_CKKS_DOUBLE_DOUBLE_H_
