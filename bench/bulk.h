// SPDX-License-Identifier: Apache-2.0
// What several jobs measure: enrolment in bulk, and large galleries.
#ifndef HEFT_BENCH_BULK_H_
#define HEFT_BENCH_BULK_H_

#include <random>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "experiment/roles.h"

namespace heft::bench {

// Step tells the monitor the name of the next step, `what`; kCancelled if it wants the job to end.
absl::Status Step(const Progress& progress, std::string_view what);

// BulkColumns: one batch for bulk enrolment, n / 2 random samples: [modality][coordinate].
using BulkColumns = std::vector<std::vector<ckks::Ciphertext>>;
absl::StatusOr<BulkColumns> EncryptBulk(const experiment::Roles& roles, std::mt19937_64& random,
                                        const Progress& progress);
// EnrolBulk fuses such a batch and puts it into an empty block.
absl::Status EnrolBulk(const experiment::Roles& roles, const BulkColumns& columns);

// RandomGallery: blocks of residues for at least `templates` templates; random ones take the same
// time as encrypted templates.
absl::StatusOr<std::vector<TiledCiphertexts>> RandomGallery(const Instance& instance,
                                                            size_t templates,
                                                            const Progress& progress);

}  // namespace heft::bench

#endif  // HEFT_BENCH_BULK_H_
