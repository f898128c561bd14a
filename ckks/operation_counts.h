// SPDX-License-Identifier: Apache-2.0
// OperationCounts: the operations that the engine executed, to be held against formulae (paper,
// table 1). Every operation of arithmetic.h and key_switch.h counts itself, and so do the loops
// that fuse many of them. Kept for the whole process over all threads: take the totals before and
// after, and run nothing else meanwhile.
#ifndef HEFT_CKKS_OPERATION_COUNTS_H_
#define HEFT_CKKS_OPERATION_COUNTS_H_

#include <cstdint>

namespace heft::ckks {

// OperationCounts: how often each was executed.
struct OperationCounts {
  uint64_t additions = 0;            // and subtractions, of ciphertexts and of encoded plaintexts
  uint64_t constant_additions = 0;   // of one number to all slots
  uint64_t plain_products = 0;       // by an encoded plaintext, or by an integer
  uint64_t ciphertext_products = 0;  // and squares
  uint64_t rotations = 0;            // and conjugations: all that read a Galois key
  uint64_t relinearisations = 0;
  uint64_t rescales = 0;  // of ciphertexts; also those fused with a key switch
  // What hoisting saves: rotations of one ciphertext share a decomposition, sums of rotations a
  // division by the special prime.
  uint64_t decompositions = 0;
  uint64_t special_divisions = 0;

  bool operator==(const OperationCounts&) const = default;
};

OperationCounts operator+(const OperationCounts& a, const OperationCounts& b);
// operator-: what was executed between two totals.
OperationCounts operator-(const OperationCounts& after, const OperationCounts& before);

// TotalOperations: since the program began.
OperationCounts TotalOperations();

// CountOperations adds to the totals.
void CountOperations(const OperationCounts& executed);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_OPERATION_COUNTS_H_
