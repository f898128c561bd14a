// SPDX-License-Identifier: Apache-2.0
// Encrypted samples of one modality (kind CTXT): what a capture device sends. Format:
// docs/formats.md.
#ifndef HEFT_FUSION_SAMPLES_H_
#define HEFT_FUSION_SAMPLES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/csprng.h"
#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"
#include "ckks/seeded.h"
#include "fusion/model.h"
#include "fusion/plan.h"

namespace heft {

// What the samples of a file have in common. Independent of the projection: a model trained anew
// for the same dimensions takes the same files.
struct SampleHeader {
  ckks::ParamsId params_id{};
  ckks::KeyId key_id{};
  std::string modality;
  uint32_t dimension = 0;
  uint32_t run = 0;  // of the compact encoding
  uint32_t gamma = 0;
  bool seeded = false;  // encrypted with the secret key, the uniform part as a seed
};

// The header of modality `index` under a model.
SampleHeader MakeSampleHeader(const Instance& instance, const Model& model, size_t index,
                              const ckks::KeyId& key_id, bool seeded);

class SampleWriter {
 public:
  // One label a sample: an identity, or empty.
  SampleWriter(const ckks::Context& context, const SampleHeader& header,
               std::span<const std::string> labels);
  void Add(const ckks::Ciphertext& sample);        // header.seeded == false
  void Add(const ckks::SeededCiphertext& sample);  // header.seeded == true
  std::vector<uint8_t> Finish();

 private:
  const ckks::Context& context_;
  ByteWriter writer_;
};

// A parsed file; ciphertexts are unpacked one at a time. Owns the bytes.
class SampleReader {
 public:
  // kDataLoss for damaged bytes, kFailedPrecondition for other parameters. `what` names the file.
  static absl::StatusOr<SampleReader> Parse(std::shared_ptr<const ckks::Context> context,
                                            std::vector<uint8_t> bytes, std::string what);

  const SampleHeader& header() const { return header_; }
  const std::vector<std::string>& labels() const { return labels_; }
  size_t size() const { return labels_.size(); }
  const std::string& what() const { return what_; }
  // kInvalidArgument for an index past the end.
  absl::StatusOr<ckks::Ciphertext> Sample(size_t index) const;

 private:
  std::shared_ptr<const ckks::Context> context_;
  std::vector<uint8_t> bytes_;
  std::string what_;
  SampleHeader header_;
  std::vector<std::string> labels_;
  size_t first_ = 0;   // offset of the first record in bytes_
  size_t record_ = 0;  // size of one record
};

// kFailedPrecondition unless samples with this header can be fused under `model`.
absl::Status CheckSamples(const Instance& instance, const Model& model, size_t index,
                          const SampleHeader& header, std::string_view what);

// A name of an identity or label: at most 255 bytes, no control characters.
absl::Status CheckIdentity(std::string_view identity);

// Encrypts rows of modality `index` under the public key. One label a row, or none at all. All
// threads.
absl::StatusOr<std::vector<uint8_t>> EncryptSamples(const Instance& instance, const Model& model,
                                                    size_t index, const ckks::PublicKey& key,
                                                    std::span<const std::vector<double>> rows,
                                                    std::span<const std::string> labels);

}  // namespace heft

#endif  // HEFT_FUSION_SAMPLES_H_
