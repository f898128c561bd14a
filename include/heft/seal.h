// SPDX-License-Identifier: Apache-2.0
// HEFT's files from objects of Microsoft SEAL 4.x and back (docs/seal.md): clients that use SEAL
// send what a HEFT server computes on, and open what it replies. SEAL itself is not needed. Link
// heft::server. What needs a secret key is in heft/seal_key_owner.h.
//
// `what` names the bytes in errors. kDataLoss: damaged bytes. kFailedPrecondition: good ones of
// other parameters than the model's. kInvalidArgument: what SEAL allows and this engine does not.
#ifndef HEFT_SEAL_H_
#define HEFT_SEAL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/gallery.h"
#include "heft/model.h"
#include "heft/progress.h"
#include "heft/server.h"

namespace heft {

// SealCompression: of SEAL's objects.
enum class SealCompression : uint8_t { kNone = 0, kZlib = 1, kZstd = 2 };

// SealRing: of a model whose profile has two ("thin"), each with parameters and keys of its own.
// The matching ring is that of probes of an identification, of scores and of evaluation keys; the
// enrolment ring that of samples to enrol or verify. Other profiles have one, which is both.
enum class SealRing : uint8_t { kMatching = 0, kEnrolment = 1 };

// ParseSealCompression: of "none", "zlib" or "zstd". ParseSealRing: of "matching" or "enrolment".
// kInvalidArgument names them.
HEFT_EXPORT absl::StatusOr<SealCompression> ParseSealCompression(std::string_view name);
HEFT_EXPORT absl::StatusOr<SealRing> ParseSealRing(std::string_view name);

// SealFile: an object of SEAL's.
struct SealFile {
  std::span<const uint8_t> bytes;
  std::string name;  // in errors
};

// SealParameters: SEAL's encryption parameters for a model, and what to do with them: encrypt at
// `scale` and the first level; make a relinearisation key, and Galois keys of the conjugation (step
// 0) and of these rotations to the left, unless there are none. Of two rings that is the enrolment
// ring, whose evaluation keys SEAL cannot make: they lead to the other ring.
struct SealParameters {
  std::vector<uint8_t> parameters;  // SEAL's EncryptionParameters
  std::string ring;                 // of two: "matching" or "enrolment"; otherwise empty
  std::string description;
  uint32_t degree = 0;
  std::vector<uint32_t> primes;  // the special one last
  double scale = 0;
  std::vector<uint32_t> runs;  // of each modality: docs/seal.md, "Samples"
  std::vector<uint32_t> rotation_steps;
};
HEFT_EXPORT absl::StatusOr<SealParameters> ExportSealParameters(
    const Model& model, SealCompression compression, SealRing ring = SealRing::kMatching);

// ExportSealEncryptionKey: SEAL's PublicKey from an encryption key, which holds one for each ring.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> ExportSealEncryptionKey(
    const Model& model, std::span<const uint8_t> key, std::string_view what,
    SealCompression compression, SealRing ring = SealRing::kMatching);

// SealSamples: SEAL's Ciphertexts, one a sample, or one a coordinate of bulk samples; of the ring
// in which the samples are encrypted.
struct SealSamples {
  std::vector<std::vector<uint8_t>> ciphertexts;
  std::vector<std::string> labels;  // one a sample
  bool bulk = false;
};
HEFT_EXPORT absl::StatusOr<SealSamples> ExportSealSamples(const Model& model, SampleFile samples,
                                                          SealCompression compression,
                                                          const Monitor& monitor = {});

// SealScores: a reply in SEAL's Ciphertexts, of the matching ring.
struct SealScores {
  struct Answer {
    uint32_t slot = 0;
    uint32_t lane = 0;  // 0: the real part, 1: the imaginary part
  };
  struct Reply {
    std::vector<uint8_t> ciphertext;
    // Of a verification, and of an identification that not every place answers; otherwise it
    // answers for all of the block, by position.
    std::vector<Answer> answers;
    uint64_t block = 0;  // of an identification
  };
  ScoreKind kind = ScoreKind::kIdentification;
  std::string probe, claimed;
  uint64_t templates = 0;               // places, of an identification
  std::vector<std::string> identities;  // by place, empty where it does not answer; or none
  std::vector<Reply> replies;
  // Of the probe: slot j holds (1 - s^2) n + i s (2 n + (-1)^j), n being |z|^2 and s the secret
  // factor that proves it (docs/seal.md). For decoders that give real parts, `squared_norm_turned`
  // holds the same times i (-1)^j: the mean of its slots is -s.
  std::vector<uint8_t> squared_norm, squared_norm_turned;
  // Scores are not cosines yet: they are to be divided by the root of n.
  bool divide_by_norm = false;
  // With which the score at a position of a block is to be multiplied: the real parts of all slots,
  // then the imaginary ones. Empty where all are 1.
  std::vector<double> factors;
};
HEFT_EXPORT absl::StatusOr<SealScores> ExportSealScores(const Model& model,
                                                        std::span<const uint8_t> scores,
                                                        std::string_view what,
                                                        SealCompression compression);

// SEAL's files do not name their key: the key id that a HEFT file carries (heft/inspect.h) or a new
// one, which everything for one secret key must have in common.
HEFT_EXPORT KeyId NewKeyId();

// ImportSealEncryptionKey: from SEAL's PublicKey, of two rings from that of each. kInvalidArgument
// unless `enrolment` is given where there are two, and only there.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> ImportSealEncryptionKey(
    const Model& model, const KeyId& key_id, std::span<const uint8_t> key, std::string_view what,
    const SealFile& enrolment = {});

// ImportedEvaluationKeys: HEFT's file, made of SEAL's GaloisKeys and RelinKeys of the matching
// ring. Of two rings they serve identification alone: enrolment keys are KeyOwner::EnrolmentKeys of
// the imported secret keys (heft/seal_key_owner.h).
struct ImportedEvaluationKeys {
  std::vector<uint8_t> bytes;
  size_t galois_keys = 0;
};
// kFailedPrecondition, naming the steps, where Galois keys are missing that the model needs.
HEFT_EXPORT absl::StatusOr<ImportedEvaluationKeys> ImportSealEvaluationKeys(
    const Model& model, const KeyId& key_id, const SealFile& galois,
    const SealFile& relinearisation, const Monitor& monitor = {});

// ImportSealSamples: encrypted samples from SEAL's Ciphertexts, one a sample. One label a sample,
// one for all, or none. Of two rings, those that the first ciphertext was made in: samples of the
// matching ring are probes of an identification, of the enrolment ring samples to enrol or verify.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> ImportSealSamples(
    const Model& model, std::string_view modality, const KeyId& key_id,
    std::span<const SampleFile> ciphertexts, std::span<const std::string> labels,
    const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_SEAL_H_
