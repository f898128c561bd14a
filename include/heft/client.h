// SPDX-License-Identifier: Apache-2.0
// The client's role: it encrypts feature vectors with the key owner's encryption key, one file for
// each modality. It cannot decrypt the result. Link heft::server.
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
#include "heft/base.h"
#include "heft/model.h"

namespace heft {

// SampleEncoding: the content of one ciphertext of a file. kCompact: one sample, for all purposes.
// kBulk: one coordinate of all samples, for enrolment of some hundred samples and more. The others
// need a profile with two rings. kPartial: one sample that the client has projected; the server
// adds the modalities. kFused: one sample that the client has fused and normalised exactly.
enum class SampleEncoding { kCompact, kBulk, kPartial, kFused };

// SampleUse: the purpose of a file if the model's profile has two rings: enrolment and
// verification, or identification. Probes for an identification are thin: a fifth of the bytes.
// With other profiles one file serves all purposes.
enum class SampleUse { kEnrolment, kIdentification };

// kMaxSamples: how many samples of one person may be averaged into one sample or template
// (Samples::average, EnrolOptions::average, ProbeOptions::average).
inline constexpr size_t kMaxSamples = 8;

// Samples: rows of one modality, to be encrypted into one file. These are views: the caller keeps
// the values. Here and everywhere an identity is 1 to 255 bytes of UTF-8. It is converted to
// Unicode's normal form C, so that two spellings are one name. Control and invisible characters,
// spaces at the ends and spaces other than U+0020 are refused (kInvalidArgument).
struct Samples {
  std::string_view modality;      // its name in the model
  std::span<const float> values;  // row by row, each of the modality's dimension; not of length 0
  std::span<const std::string> labels = {};            // one identity for each row, or none
  SampleEncoding encoding = SampleEncoding::kCompact;  // kBulk: at most 4096 rows
  SampleUse use = SampleUse::kEnrolment;               // kBulk: this one
  // Averages the rows of each label, or all rows if there are no labels: their mean, scaled to the
  // length of one sample. At most kMaxSamples for each label. kFailedPrecondition for a model
  // without sample_agreement.
  bool average = false;
};

// Client: a model and an encryption key. Const calls are safe from any number of threads.
class HEFT_EXPORT Client {
 public:
  class HEFT_HIDDEN Impl;

  // `encryption_key`: the bytes of the key file; `what` names it in errors. kDataLoss for damaged
  // bytes; kFailedPrecondition for a key of other parameters than the model's.
  static absl::StatusOr<Client> Create(const Model& model, std::span<const uint8_t> encryption_key,
                                       std::string_view what = "encryption key");

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  const Model& model() const;

  // Encrypts one vector of a modality, for an enrolment or a probe, after scaling it to unit
  // length. The file has about 370 KB, a thin probe 80 KB. kInvalidArgument for an unknown
  // modality, another dimension, NaN, infinity, a zero vector, or an invalid identity as label.
  absl::StatusOr<std::vector<uint8_t>> Encrypt(std::string_view modality,
                                               std::span<const float> vector,
                                               const std::string& label = "",
                                               SampleUse use = SampleUse::kEnrolment) const;

  // Encrypts many rows into one file, on all threads. The same errors, with the row;
  // kInvalidArgument for kFused.
  absl::StatusOr<std::vector<uint8_t>> Encrypt(const Samples& samples) const;

  // Fuses row i of all modalities and encrypts the result, for a client that has them all. Writes
  // one file with the labels and use of the first modality. An absent modality counts as missing.
  // Only for profiles with two rings. kInvalidArgument as above, for a repeated modality, and if
  // the numbers of rows differ.
  absl::StatusOr<std::vector<uint8_t>> EncryptFused(std::span<const Samples> modalities) const;

 private:
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// FuseInClear: the templates that the server computes under encryption from row i of all
// modalities, without a key and without encryption: the projected rows, normalised by the model's
// approximation; model.gamma numbers for each row. An absent modality counts as missing; labels,
// encoding and use do not matter. `outside`, if not null, receives the number of rows whose squared
// norm is outside the approximation's interval: their length is meaningless, under encryption too.
// For plots and baselines. Errors as EncryptFused's.
HEFT_EXPORT absl::StatusOr<std::vector<double>> FuseInClear(const Model& model,
                                                            std::span<const Samples> modalities,
                                                            size_t* outside = nullptr);

}  // namespace heft

#endif  // HEFT_CLIENT_H_
