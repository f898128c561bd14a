// SPDX-License-Identifier: Apache-2.0
// The client's role: it encrypts feature vectors under the key owner's encryption key, one file a
// modality. What it encrypts it cannot decrypt. Link heft::server.
#ifndef HEFT_CLIENT_H_
#define HEFT_CLIENT_H_

#include <cstddef>
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

// SampleEncoding: what one ciphertext of a file holds. kCompact: one sample; such files serve
// everything. kBulk: one coordinate of all samples; for enrolment alone, of some hundred samples
// and more. Two rings alone: kPartial: one sample that the client has projected, of which the
// server adds up the modalities; kFused: one that the client has fused and normalised whole,
// exactly.
enum class SampleEncoding { kCompact, kBulk, kPartial, kFused };

// SampleUse: what a file is for, where a model's profile has two rings: enrolment and
// verification, or probes of an identification, which are thin: a fifth of the bytes. Other
// profiles: one file serves all.
enum class SampleUse { kEnrolment, kIdentification };

// kMostSamples: of one person, that may become one sample or template (Samples::average,
// EnrolOptions::average, ProbeOptions::average).
inline constexpr size_t kMostSamples = 8;

// Samples: rows of one modality, to be encrypted into one file. Views: the caller keeps the values.
// Here and everywhere an identity is 1 to 255 bytes of UTF-8. It is taken in Unicode's normal form
// C, so that two spellings are one name. Control and invisible characters, spaces at the ends and
// spaces other than U+0020 are refused (kInvalidArgument).
struct Samples {
  std::string_view modality;      // its name in the model
  std::span<const float> values;  // row by row, each of the modality's dimension; any length but 0
  std::span<const std::string> labels = {};            // an identity a row, or none
  SampleEncoding encoding = SampleEncoding::kCompact;  // kBulk: at most 4096 rows
  SampleUse use = SampleUse::kEnrolment;               // kBulk: this one
  // The rows of one label, or all where there are no labels, become one: their mean, brought to the
  // length that one sample has. At most kMostSamples of each; a model without sample_agreement is
  // refused with kFailedPrecondition.
  bool average = false;
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

  const Model& model() const;

  // One vector of a modality, for an enrolment or a probe. Vectors are scaled to unit length here.
  // Some 370 KB, a thin probe 80 KB. kInvalidArgument for an unknown modality, another dimension,
  // NaN, infinity, a zero vector, or a label that cannot be an identity.
  absl::StatusOr<std::vector<uint8_t>> Encrypt(std::string_view modality,
                                               std::span<const float> vector,
                                               const std::string& label = "",
                                               SampleUse use = SampleUse::kEnrolment) const;

  // Many rows, one file; all threads. The same errors, with the row; kInvalidArgument for kFused.
  absl::StatusOr<std::vector<uint8_t>> Encrypt(const Samples& samples) const;

  // Fuses row i of all modalities and encrypts what comes out, for a client that holds them all:
  // one file, whose labels and use are those of the first. A modality that is absent counts as
  // missing. Two rings alone. kInvalidArgument as above, for a modality twice, or where rows
  // differ in number.
  absl::StatusOr<std::vector<uint8_t>> EncryptFused(std::span<const Samples> modalities) const;

 private:
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heft

#endif  // HEFT_CLIENT_H_
