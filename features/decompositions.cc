// SPDX-License-Identifier: Apache-2.0
#include "features/decompositions.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

namespace heft {

Spectrum SpectrumOf(const Eigen::MatrixXd& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(symmetric);
  return {solver.eigenvalues(), solver.eigenvectors()};
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
