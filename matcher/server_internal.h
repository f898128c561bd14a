// SPDX-License-Identifier: Apache-2.0
// Shared by the server's source files.
#ifndef HEFT_MATCHER_SERVER_INTERNAL_H_
#define HEFT_MATCHER_SERVER_INTERNAL_H_

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ckks/ciphertext.h"
#include "gallery/admission.h"
#include "heft/trust.h"
#include "matcher/server_impl.h"

namespace heft::internal {

// kCancelled if the progress function returns false.
absl::Status Report(const ProgressFunction& progress, size_t done, size_t total);

// The first file. All must have equally many samples; otherwise the error says `what`.
absl::StatusOr<const SampleReader*> FirstOfEqualFiles(const SampleSet& samples,
                                                      std::string_view what);

// Pointers to one row's ciphertexts, nullptr for an absent modality.
std::vector<const ckks::Ciphertext*> Present(const std::vector<ckks::Ciphertext>& row);

// CheckJoining: an identity in `known` gets another template only with the registrar's
// authorisation. Returns the identities whose earlier templates are removed.
absl::StatusOr<std::set<std::string>> CheckJoining(const GalleryId& gallery,
                                                   const std::set<std::string>& known,
                                                   std::span<const PendingTemplate> templates,
                                                   ByteSpan authorisation, const Trust* trust);

}  // namespace heft::internal

#endif  // HEFT_MATCHER_SERVER_INTERNAL_H_
