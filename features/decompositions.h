// SPDX-License-Identifier: Apache-2.0
// Decompositions of matrices by Eigen, whose templates take a compiler seconds in every
// file that uses them: here they are compiled once.
#ifndef HEFT_FEATURES_DECOMPOSITIONS_H_
#define HEFT_FEATURES_DECOMPOSITIONS_H_

#include <Eigen/Core>

namespace heft {

// Spectrum: eigenvalues, rising, and an eigenvector of each, one a column.
struct Spectrum {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};
Spectrum SpectrumOf(const Eigen::MatrixXd& symmetric);
// LeadingSpectrum: the `count` largest eigenvalues of the lower half's matrix, or all where it has
// fewer. Up to half of them cost less than half of SpectrumOf where the matrix is large.
Spectrum LeadingSpectrum(const Eigen::MatrixXd& symmetric, Eigen::Index count);

// TridiagonalSpectrum: of a symmetric matrix with this diagonal, and `beside` below and above it.
Spectrum TridiagonalSpectrum(const Eigen::VectorXd& diagonal, const Eigen::VectorXd& beside);

// OrthonormalSpan: as many orthonormal columns as `columns` has, at most its rows, which span them.
Eigen::MatrixXd OrthonormalSpan(const Eigen::MatrixXd& columns);

// CholeskyFactor: the lower L of L L' = `positive`, zeros above.
Eigen::MatrixXd CholeskyFactor(const Eigen::MatrixXd& positive);

// SolveSymmetric: x of `symmetric` x = b, by L D L'; `symmetric` is not indefinite.
Eigen::VectorXd SolveSymmetric(const Eigen::MatrixXd& symmetric, const Eigen::VectorXd& b);
Eigen::MatrixXd SolveSymmetric(const Eigen::MatrixXd& symmetric, const Eigen::MatrixXd& b);

// ShortestSolution: of all x with the least |a x - b|, of each column, the shortest.
Eigen::MatrixXd ShortestSolution(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b);

}  // namespace heft

#endif  // HEFT_FEATURES_DECOMPOSITIONS_H_
