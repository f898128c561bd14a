// SPDX-License-Identifier: Apache-2.0
// Encrypted samples of one modality, as clients send them. Kind CTXT holds one ciphertext for each
// sample (the compact encoding), kind CTXS one for each coordinate, for bulk enrolment. Format:
// docs/formats.md.
#ifndef HEFT_FUSION_SAMPLES_H_
#define HEFT_FUSION_SAMPLES_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"
#include "ckks/seeded.h"
#include "fusion/bulk.h"
#include "fusion/plan.h"
#include "fusion/projected.h"
#include "fusion/rings.h"
#include "heft/client.h"
#include "heft/model.h"

namespace heft {

// The common facts of a file's samples. They do not depend on the projection: a retrained model
// with the same dimensions accepts the same files.
struct SampleHeader {
  ckks::ParamsId params_id{};
  ckks::KeyId key_id{};
  std::string modality;
  uint32_t dimension = 0;
  SampleEncoding encoding = SampleEncoding::kCompact;
  uint32_t run = 0;  // of the compact encoding; 0 for bulk
  uint32_t gamma = 0;
  bool seeded = false;  // encrypted with the secret key, the uniform part as a seed
  // For samples that a client has projected: the model and the purpose.
  ModelId model_id{};
  SampleUse use = SampleUse::kEnrolment;
  // For samples that a client has fused: their modalities, bit i for Model::modalities[i].
  uint32_t modalities = 0;

  bool projected() const {
    return encoding == SampleEncoding::kPartial || encoding == SampleEncoding::kFused;
  }
};

// SampleForm: how to encrypt samples.
struct SampleForm {
  SampleForm(SampleEncoding e = SampleEncoding::kCompact,  // NOLINT: an encoding is a form
             SampleUse u = SampleUse::kEnrolment, VectorLength l = VectorLength::kAny)
      : encoding(e), use(u), length(l) {}
  SampleEncoding encoding;
  SampleUse use;
  VectorLength length;
  uint32_t modalities = 0;  // for kFused: the fused modalities; 0: all of the model's
};

// The header of modality `index` under a model.
SampleHeader MakeSampleHeader(const Instance& instance, const Model& model, size_t index,
                              const ckks::KeyId& key_id, bool seeded, SampleForm form = {});

// The plaintexts of a file's ciphertexts.
class SampleEncoder {
 public:
  // One label for each row, or none at all; `rows` must outlive the encoder. kInvalidArgument for
  // wrong labels or rows; for the compact encoding rows are checked when they are encoded. Rows of
  // kPartial and kFused are results of ProjectRows and FuseRows.
  static absl::StatusOr<SampleEncoder> Create(const Instance& instance, const Model& model,
                                              size_t index,
                                              std::span<const std::vector<double>> rows,
                                              std::span<const std::string> labels, SampleForm form);
  size_t size() const;
  absl::StatusOr<ckks::Plaintext> Encode(size_t i) const;
  const std::vector<std::string>& labels() const { return labels_; }

 private:
  SampleEncoder() = default;
  const Instance* instance_ = nullptr;
  const Model* model_ = nullptr;
  size_t index_ = 0;
  SampleForm form_;
  std::span<const std::vector<double>> rows_;
  std::vector<std::string> labels_;
  std::optional<SimdColumns> columns_;  // bulk
};

class SampleWriter {
 public:
  // One label for each sample: an identity, or empty.
  SampleWriter(const ckks::Context& context, const SampleHeader& header,
               std::span<const std::string> labels);
  // For header.seeded == false and == true. One call for each sample, or for each coordinate in
  // bulk.
  void Add(const ckks::Ciphertext& ciphertext);
  void Add(const ckks::SeededCiphertext& ciphertext);
  std::vector<uint8_t> Finish();

 private:
  const ckks::Context& context_;
  SampleEncoding encoding_;
  ByteWriter writer_;
};

// A parsed file, which owns its bytes; ciphertexts are unpacked one at a time.
class SampleReader {
 public:
  // kDataLoss for damaged bytes, kFailedPrecondition for other parameters. `what` names the file.
  static absl::StatusOr<SampleReader> Parse(std::shared_ptr<const ckks::Context> context,
                                            std::vector<uint8_t> bytes, std::string what);

  const SampleHeader& header() const { return header_; }
  const std::vector<std::string>& labels() const { return labels_; }
  size_t size() const { return labels_.size(); }  // samples
  bool bulk() const { return header_.encoding == SampleEncoding::kBulk; }
  const std::string& what() const { return what_; }
  // kInvalidArgument for an index past the end, and for files of the other encoding.
  absl::StatusOr<ckks::Ciphertext> Sample(size_t index) const;
  absl::StatusOr<ckks::Ciphertext> Coordinate(size_t index) const;
  // RowDigest: the hash of sample `index` as it was encrypted, which identifies a repeated sample.
  // In bulk, of all samples and the index.
  Hash RowDigest(size_t index) const;

 private:
  absl::StatusOr<ckks::Ciphertext> Record(size_t index) const;

  std::shared_ptr<const ckks::Context> context_;
  std::vector<uint8_t> bytes_;
  std::string what_;
  SampleHeader header_;
  std::vector<std::string> labels_;
  size_t first_ = 0;   // offset of the first record in bytes_
  size_t record_ = 0;  // size of one record
  Hash all_{};         // bulk: of all records
};

// kFailedPrecondition unless samples with this header can be fused under `model`.
absl::Status CheckSamples(const Instance& instance, const Model& model, size_t index,
                          const SampleHeader& header, std::string_view what);

// CheckSampleKind: that an unsigned file is declared to be one of samples. kDataLoss, as its
// reader.
absl::Status CheckSampleKind(ByteSpan file, std::string_view what);

// SampleParamsId: the parameters that a file of samples declares; zeros for other files.
ckks::ParamsId SampleParamsId(ByteSpan bytes);

// RingOf: the ring of such samples: rings.enrolment or rings.matching. kInvalidArgument for bulk
// samples for identification, and for projected samples with one ring.
absl::StatusOr<const Instance*> RingOf(const Rings& rings, const SampleForm& form);

// EncodableRows: the input of a SampleEncoder. RowsToEncrypt: from one modality, projected if the
// encoding requires it. RowsToFuse: from all given modalities, fused. kInvalidArgument as
// Client::Encrypt and Client::EncryptFused.
struct EncodableRows {
  size_t index = 0;  // of the modality; fused: 0
  SampleForm form;
  std::vector<std::vector<double>> rows;
  std::vector<std::string> labels;  // one for each row, or none
};
absl::StatusOr<EncodableRows> RowsToEncrypt(const Model& model, const Samples& samples);
absl::StatusOr<EncodableRows> RowsToFuse(const Model& model, std::span<const Samples> modalities);

// RowsOf: the rows of `samples`. kInvalidArgument for none, or an incomplete one.
absl::StatusOr<std::vector<std::vector<double>>> RowsOf(const Samples& samples,
                                                        const ModalitySpec& modality);

// Encrypts rows of modality `index` under the public key. One label for each row, or none at all;
// at most n/2 rows for bulk. Uses all threads.
absl::StatusOr<std::vector<uint8_t>> EncryptSamples(const Instance& instance, const Model& model,
                                                    size_t index, const ckks::PublicKey& key,
                                                    std::span<const std::vector<double>> rows,
                                                    std::span<const std::string> labels,
                                                    SampleForm form = {});

}  // namespace heft

#endif  // HEFT_FUSION_SAMPLES_H_
