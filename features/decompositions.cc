// SPDX-License-Identifier: Apache-2.0
#include "features/decompositions.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "features/random.h"

namespace heft {
namespace {

constexpr double kRounding = std::numeric_limits<double>::epsilon();

// A symmetric tridiagonal matrix less `shift` on the diagonal, by elimination with row exchanges.
// A pivot of 0 becomes a very small one, so a shift that is an eigenvalue has a solution too.
class Shifted {
 public:
  Shifted(const Eigen::VectorXd& diagonal, const Eigen::VectorXd& beside, double shift)
      : pivot_(diagonal.array() - shift),
        above_(beside),
        above2_(Eigen::VectorXd::Zero(diagonal.size())),
        factor_(beside),
        exchanged_(static_cast<size_t>(diagonal.size())) {
    const Eigen::Index last = pivot_.size() - 1;
    for (Eigen::Index i = 0; i < last; ++i) {
      if (std::abs(factor_[i]) > std::abs(pivot_[i])) {
        exchanged_[static_cast<size_t>(i)] = true;
        std::swap(factor_[i], pivot_[i]);
        std::swap(above_[i], pivot_[i + 1]);
        if (i + 1 < last) std::swap(above2_[i], above_[i + 1]);
      }
      HoldOff(pivot_[i]);
      factor_[i] /= pivot_[i];
      pivot_[i + 1] -= factor_[i] * above_[i];
      if (i + 1 < last) above_[i + 1] -= factor_[i] * above2_[i];
    }
    HoldOff(pivot_[last]);
  }

  void SolveInPlace(Eigen::VectorXd& x) const {
    const Eigen::Index last = x.size() - 1;
    for (Eigen::Index i = 0; i < last; ++i) {
      if (exchanged_[static_cast<size_t>(i)]) std::swap(x[i], x[i + 1]);
      x[i + 1] -= factor_[i] * x[i];
    }
    for (Eigen::Index i = last; i >= 0; --i) {
      if (i < last) x[i] -= above_[i] * x[i + 1];
      if (i + 1 < last) x[i] -= above2_[i] * x[i + 2];
      x[i] /= pivot_[i];
    }
  }

 private:
  static void HoldOff(double& pivot) {
    if (std::abs(pivot) < kRounding) pivot = std::copysign(kRounding, pivot);
  }

  Eigen::VectorXd pivot_, above_, above2_;  // the upper triangle
  Eigen::VectorXd factor_;                  // of each row, taken from the next one
  std::vector<bool> exchanged_;             // a row with the next one
};

// Eigenvectors of a tridiagonal matrix of norm about 1 for its largest eigenvalues, which rise, by
// inverse iteration. Those of near eigenvalues are made orthogonal. None where that is not enough.
std::optional<Eigen::MatrixXd> InverseIteration(const Eigen::VectorXd& diagonal,
                                                const Eigen::VectorXd& beside,
                                                const Eigen::VectorXd& values) {
  constexpr double kNear = 1e-3, kTolerance = 1e-11;
  constexpr int kSteps = 3;
  const Eigen::Index size = diagonal.size(), count = values.size();
  Eigen::MatrixXd vectors(size, count);
  Random random(0, 0);
  Eigen::Index end = count;  // of the near ones, from the next one on
  for (Eigen::Index k = count - 1; k >= 0; --k) {
    while (end > k + 1 && values[end - 1] - values[k] > kNear) --end;
    const auto near = vectors.middleCols(k + 1, end - k - 1);
    // Equal eigenvalues need shifts that differ.
    const Shifted matrix(diagonal, beside,
                         values[k] - 4 * kRounding * static_cast<double>(end - k - 1));
    Eigen::VectorXd x(size);
    for (double& value : x) value = random.Uniform() - 0.5;
    for (int step = 0; step < kSteps; ++step) {
      matrix.SolveInPlace(x);
      x.normalize();
      for (int pass = 0; pass < 2; ++pass) x -= near * (near.transpose() * x).eval();
      x.normalize();
    }
    vectors.col(k) = x;
  }
  Eigen::MatrixXd left = diagonal.asDiagonal() * vectors;
  left.topRows(size - 1) += beside.asDiagonal() * vectors.bottomRows(size - 1);
  left.bottomRows(size - 1) += beside.asDiagonal() * vectors.topRows(size - 1);
  left -= vectors * values.asDiagonal();
  Eigen::MatrixXd products = Eigen::MatrixXd::Zero(count, count);
  products.selfadjointView<Eigen::Lower>().rankUpdate(vectors.transpose());
  products.diagonal().array() -= 1;
  const double error = std::max(left.cwiseAbs().maxCoeff(), products.cwiseAbs().maxCoeff());
  if (!(error < kTolerance)) return std::nullopt;
  return vectors;
}

}  // namespace

Spectrum SpectrumOf(const Eigen::MatrixXd& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(symmetric);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

Spectrum LeadingSpectrum(const Eigen::MatrixXd& symmetric, Eigen::Index count) {
  constexpr Eigen::Index kFewest = 100;
  const Eigen::Index size = symmetric.rows();
  const double scale = size == 0 ? 0 : symmetric.cwiseAbs().maxCoeff();
  if (size < kFewest || 2 * count > size || !(scale > 0) || !std::isfinite(scale)) {
    const Spectrum all = SpectrumOf(symmetric);
    count = std::min(count, size);
    return {all.values.tail(count), all.vectors.rightCols(count)};
  }
  const Eigen::Tridiagonalization<Eigen::MatrixXd> reduced(symmetric / scale);
  const Eigen::VectorXd diagonal = reduced.diagonal(), beside = reduced.subDiagonal();
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, beside, Eigen::EigenvaluesOnly);
  const Eigen::VectorXd values = solver.eigenvalues().tail(count);
  std::optional<Eigen::MatrixXd> vectors = InverseIteration(diagonal, beside, values);
  if (!vectors) {
    solver.computeFromTridiagonal(diagonal, beside, Eigen::ComputeEigenvectors);
    vectors = solver.eigenvectors().rightCols(count);
  }
  return {scale * values, reduced.matrixQ() * *vectors};
}

Spectrum TridiagonalSpectrum(const Eigen::VectorXd& diagonal, const Eigen::VectorXd& beside) {
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, beside, Eigen::ComputeEigenvectors);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

Eigen::MatrixXd OrthonormalSpan(const Eigen::MatrixXd& columns) {
  const Eigen::Index count = std::min(columns.rows(), columns.cols());
  return Eigen::HouseholderQR<Eigen::MatrixXd>(columns).householderQ() *
         Eigen::MatrixXd::Identity(columns.rows(), count);
}

Eigen::MatrixXd CholeskyFactor(const Eigen::MatrixXd& positive) { return positive.llt().matrixL(); }

Eigen::VectorXd SolveSymmetric(const Eigen::MatrixXd& symmetric, const Eigen::VectorXd& b) {
  return symmetric.ldlt().solve(b);
}

Eigen::MatrixXd SolveSymmetric(const Eigen::MatrixXd& symmetric, const Eigen::MatrixXd& b) {
  return symmetric.ldlt().solve(b);
}

Eigen::MatrixXd ShortestSolution(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  return a.completeOrthogonalDecomposition().solve(b);
}

}  // namespace heft
