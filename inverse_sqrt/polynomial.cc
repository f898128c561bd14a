// SPDX-License-Identifier: Apache-2.0
#include "heft/approximation.h"

namespace heft {

double Polynomial::operator()(double s) const {
  const double t = (s - centre) / half_width;
  double value = 0.0;
  for (int k = Degree(); k >= 0; --k) value = value * t + coefficients[k];
  return value;
}

double Polynomial::Derivative(double s) const {
  const double t = (s - centre) / half_width;
  double value = 0.0;
  for (int k = Degree(); k >= 1; --k) value = value * t + k * coefficients[k];
  return value / half_width;
}

Polynomial Polynomial::InPowersOfS() const {
  // Horner's scheme on coefficient vectors: result = result * t + c, t = (s - centre) / half_width.
  const long double slope = 1.0L / half_width;
  const long double offset = -static_cast<long double>(centre) / half_width;
  std::vector<long double> powers;
  for (int k = Degree(); k >= 0; --k) {
    powers.push_back(0.0L);
    for (int j = static_cast<int>(powers.size()) - 1; j >= 1; --j) {
      powers[j] = powers[j] * offset + powers[j - 1] * slope;
    }
    powers[0] = powers[0] * offset + coefficients[k];
  }
  Polynomial result;
  result.coefficients.assign(powers.begin(), powers.end());
  return result;
}

}  // namespace heft
