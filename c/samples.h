// SPDX-License-Identifier: Apache-2.0
// Rows and labels of C callers as the library takes them.
#ifndef HEFT_C_SAMPLES_H_
#define HEFT_C_SAMPLES_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "c/handles.h"
#include "heft/client.h"

namespace heft::c {

// Values: the numbers of `rows`, after a check of their sizes. The modality's name must not be
// NULL.
absl::StatusOr<std::span<const float>> Values(const heft_rows& rows);
// Strings: copies of `count` texts, none of them NULL; `what` names them. Empty if `texts` is NULL.
absl::StatusOr<std::vector<std::string>> Strings(const char* const* texts, size_t count,
                                                 const char* what);

// SampleRows: samples to be encrypted, with the options of heft_client_encrypt, or of those
// that are fused. The caller keeps the values.
class SampleRows {
 public:
  absl::Status Read(const std::vector<ModalitySpec>& model, const heft_rows* rows, size_t count,
                    const char* const* labels, const heft_options* options, bool fused);
  std::span<const Samples> views() const { return samples_; }

 private:
  std::vector<std::string> labels_;
  std::vector<Samples> samples_;
};

}  // namespace heft::c

#endif  // HEFT_C_SAMPLES_H_
