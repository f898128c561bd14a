// SPDX-License-Identifier: Apache-2.0
// The client's role: it encrypts feature vectors under the key owner's encryption key, one file a
// modality. What it encrypts it cannot decrypt. Link heft::server.
#ifndef HEFT_CLIENT_H_
#define HEFT_CLIENT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/model.h"

namespace heft {

// SampleEncoding: what one ciphertext of a file holds: one sample, or one coordinate of all of
// them. Compact files serve everything; bulk ones enrolment alone, of some hundred samples and
// more.
enum class SampleEncoding { kCompact, kBulk };

// SampleUse: what a file is for, where a model's profile has two rings ("thin"): enrolment and
// verification, or probes of an identification, which are thin: a fifth of the bytes. Other
// profiles: one file serves all.
enum class SampleUse { kEnrolment, kIdentification };

// Samples: rows of one modality, to be encrypted into one file. Views: the caller keeps the values.
struct Samples {
  std::string_view modality;      // its name in the model
  std::span<const float> values;  // row by row, each of the modality's dimension; any length but 0
  std::span<const std::string> labels = {};  // an identity a row, 1 to 255 bytes each; or none
  SampleEncoding encoding = SampleEncoding::kCompact;  // kBulk: at most 4096 rows
  SampleUse use = SampleUse::kEnrolment;               // kBulk: this
};

// Client: a model and an encryption key. Const: any number of threads may call at once.
class HEFT_EXPORT Client {
 public:
  class HEFT_HIDDEN Impl;

  // `encryption_key`: the bytes of the key file, `what` its name in errors. kDataLoss for damaged
  // bytes, kFailedPrecondition for a key of other parameters than the model's.
  static absl::StatusOr<Client> Create(const Model& model, std::span<const uint8_t> encryption_key,
                                       std::string_view what = "encryption key");

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // One vector of a modality, for an enrolment or a probe. Vectors are scaled to unit length here.
  // About 5 ms and 200 KB. kInvalidArgument for an unknown modality, another dimension, NaN,
  // infinity, a zero vector, or a label that cannot be an identity.
  absl::StatusOr<std::vector<uint8_t>> Encrypt(std::string_view modality,
                                               std::span<const float> vector,
                                               const std::string& label = "",
                                               SampleUse use = SampleUse::kEnrolment) const;

  // Many rows, one file; all threads. The same errors, with the row.
  absl::StatusOr<std::vector<uint8_t>> Encrypt(const Samples& samples) const;

 private:
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heft

#endif  // HEFT_CLIENT_H_
