// SPDX-License-Identifier: Apache-2.0
// EnrolMany: a whole gallery from feature vectors in one call, for programs that are client and
// server at once, such as migrations from plain templates and measurements. It encrypts thousands
// of rows as one ciphertext for each coordinate (SampleEncoding::kBulk), one batch at a time. Link
// heft::server.
#ifndef HEFT_ENROL_MANY_H_
#define HEFT_ENROL_MANY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/client.h"
#include "heft/gallery.h"
#include "heft/results.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft {

// kMaxBulkRows: the largest number of rows of a batch, and of an identity.
inline constexpr size_t kMaxBulkRows = 4096;

struct EnrolManyOptions {
  // For all templates, as in EnrolOptions.
  Metadata metadata = {};
  uint64_t expires = 0;
  // Returns the key owner's answer to a request for admission (KeyOwner::Approve). The request is
  // signed with the gallery's key. If set, each batch is approved before the next one. The answer
  // must be signed by a key owner that `trust` lists; without `trust` any signer is accepted. An
  // error of `approve` ends the call. If not set, all templates stay pending (PendingUpTo).
  std::function<absl::StatusOr<std::vector<uint8_t>>(std::span<const uint8_t> request)> approve =
      {};
  const Trust* trust = nullptr;
  // The first row to enrol, to continue a call that ended with an error. The number of rows, with
  // `approve`: all rows are enrolled, and the pending ones are approved.
  size_t from = 0;
  // If set, receives the row to continue from after each batch, also if the call fails.
  size_t* next = nullptr;
};

// EnrolMany: encrypts, fuses and enrols row i of all modalities under label i of the first
// modality. It chooses encodings and uses itself. Rows of one identity must be adjacent. Each batch
// is enrolled completely or not at all; an error after the first batch states the row to continue
// from. Takes memory for one batch, about 250 MB for a modality of 512 dimensions. kInvalidArgument
// if the numbers of rows differ, a label is missing, or a label occurs again after others; errors
// of Client::Encrypt, Server::Enrol and Server::Activate; kCancelled, also between batches. Without
// `approve`, the limits of pending enrolments end a large call (Server::Enrol).
HEFT_EXPORT absl::StatusOr<EnrolManyResult> EnrolMany(const Client& client, const Server& server,
                                                      const std::string& gallery,
                                                      std::span<const Samples> modalities,
                                                      const EnrolManyOptions& options = {},
                                                      const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_ENROL_MANY_H_
