// SPDX-License-Identifier: Apache-2.0
// Functions of two ciphertexts for an attacker that has encrypted templates of two keys and wants
// to know which are of one person. All are n x m scores, [first][second].
#ifndef HEFT_EXPERIMENT_LINKAGE_FUNCTIONS_H_
#define HEFT_EXPERIMENT_LINKAGE_FUNCTIONS_H_

#include <span>
#include <string>
#include <vector>

#include "ckks/ciphertext.h"
#include "ckks/context.h"
#include "features/matrix.h"

namespace heft::experiment {

// Form: of what stands in a ciphertext's part, taken as numbers around zero.
enum class Form { kCoefficients, kEvaluations, kMagnitudes };

// Numbers: a row a ciphertext: one limb of one part, each row of mean 0 and length 1.
FeatureMatrix Numbers(const ckks::Context& context, std::span<const ckks::Ciphertext> of,
                      size_t part, size_t limb, Form form);

// Correlations: of the rows of both.
FeatureMatrix Correlations(const FeatureMatrix& first, const FeatureMatrix& second);

// EqualResidues: how many residues of the first limb of both parts are the same.
FeatureMatrix EqualResidues(std::span<const ckks::Ciphertext> first,
                            std::span<const ckks::Ciphertext> second);

// EqualHashBits: how many bits the hashes of their bytes have in common, as of what a server keeps
// to know a sample again.
FeatureMatrix EqualHashBits(const ckks::Context& context, std::span<const ckks::Ciphertext> first,
                            std::span<const ckks::Ciphertext> second);

// Outside: how far apart is what stands in the clear beside a ciphertext: its bytes' number, scale
// and stated noise.
FeatureMatrix Outside(const ckks::Context& context, std::span<const ckks::Ciphertext> first,
                      std::span<const ckks::Ciphertext> second);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_LINKAGE_FUNCTIONS_H_
