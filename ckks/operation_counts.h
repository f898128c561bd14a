// SPDX-License-Identifier: Apache-2.0
// OperationCounts: the operations that the engine executed, for comparison with formulae (paper,
// table 1). All operations of arithmetic.h and key_switch.h count themselves, and so do loops that
// fuse several of them. Totals are for the whole process and all threads: take them before and
// after, and run nothing else in between.
#ifndef HEFT_CKKS_OPERATION_COUNTS_H_
#define HEFT_CKKS_OPERATION_COUNTS_H_

#include <cstdint>

namespace heft::ckks {

// OperationCounts: the number of executions of each operation.
struct OperationCounts {
  uint64_t additions = 0;            // and subtractions, of ciphertexts and of encoded plaintexts
  uint64_t constant_additions = 0;   // of one number to all slots
  uint64_t plain_products = 0;       // by an encoded plaintext, or by an integer
  uint64_t ciphertext_products = 0;  // and squares
  uint64_t rotations = 0;            // and conjugations: all operations that read a Galois key
  uint64_t relinearisations = 0;
  uint64_t rescales = 0;  // of ciphertexts; also those fused with a key switch
  // Savings of hoisting: rotations of one ciphertext share a decomposition; sums of rotations share
  // a division by the special prime.
  uint64_t decompositions = 0;
  uint64_t special_divisions = 0;

  bool operator==(const OperationCounts&) const = default;
};

OperationCounts operator+(const OperationCounts& a, const OperationCounts& b);
// operator-: the operations between two totals.
OperationCounts operator-(const OperationCounts& after, const OperationCounts& before);

// TotalOperations: since the start of the program.
OperationCounts TotalOperations();

// CountOperations: adds to the totals.
void CountOperations(const OperationCounts& executed);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_OPERATION_COUNTS_H_
