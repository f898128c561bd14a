// SPDX-License-Identifier: Apache-2.0
// EnrolMany: a whole gallery from feature vectors in one call, for whoever is client and server at
// once: who moves a gallery of plain templates to HEFT, and who measures. Thousands of rows go
// through one ciphertext a coordinate (SampleEncoding::kBulk), a batch at a time. Link
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
#include "heft/client.h"
#include "heft/export.h"
#include "heft/metadata.h"
#include "heft/progress.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft {

// kMostBulkRows: of one batch, and of one identity.
inline constexpr size_t kMostBulkRows = 4096;

struct EnrolManyOptions {
  // Of all templates alike, as in EnrolOptions.
  Metadata metadata = {};
  uint64_t expires = 0;
  // The key owner's answer to a request for admission (KeyOwner::Admit), signed with the gallery's
  // key: where it is set, each batch is admitted before the next one comes, by whom `trust` lists
  // or, without it, whoever signed. Its error ends the call. Otherwise all wait (PendingUpTo).
  std::function<absl::StatusOr<std::vector<uint8_t>>(std::span<const uint8_t> request)> admit = {};
  const Trust* trust = nullptr;
  // The first row that is looked at: where a call that was ended goes on. The number of rows, where
  // `admit` is set: all have been brought, and what waits is admitted.
  size_t from = 0;
  // Where it is set: the row to go on from, told as batches are taken, also where the call fails.
  size_t* next = nullptr;
};

// EnrolManyResult: what has come of all batches, and what the gallery holds.
struct EnrolManyResult {
  size_t brought = 0;
  size_t admitted = 0;
  size_t rejected = 0;
  size_t waiting = 0;
  size_t templates = 0;
  size_t blocks = 0;
};

// EnrolMany encrypts, fuses and enrols row i of all modalities under label i of the first one.
// Encodings and uses are chosen here. Rows of one identity stand together. Each batch is taken
// whole or not at all; an error after the first one says from which row to go on. Memory for one
// batch, some 250 MB a modality of 512. kInvalidArgument where rows differ in number, a label is
// missing or comes again elsewhere; errors of Client::Encrypt, Server::Enrol and Server::Admit;
// kCancelled, between batches too.
HEFT_EXPORT absl::StatusOr<EnrolManyResult> EnrolMany(const Client& client, const Server& server,
                                                      const std::string& gallery,
                                                      std::span<const Samples> modalities,
                                                      const EnrolManyOptions& options = {},
                                                      const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_ENROL_MANY_H_
