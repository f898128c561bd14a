// SPDX-License-Identifier: Apache-2.0
// Converts between HEFT's files and objects of Microsoft SEAL 4.x (docs/seal.md), so that clients
// that use SEAL can encrypt for a HEFT server and open its replies. SEAL itself is not needed. Link
// heft::server. heft/seal_key_owner.h has the functions that need a secret key.
//
// `what` names the bytes in errors. kDataLoss: damaged bytes. kFailedPrecondition: valid bytes of
// other parameters than the model's. kInvalidArgument: features of SEAL that HEFT does not support.
#ifndef HEFT_SEAL_H_
#define HEFT_SEAL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/gallery.h"
#include "heft/model.h"
#include "heft/server.h"

namespace heft {

// SealCompression: compression of SEAL's objects.
enum class SealCompression : uint8_t { kNone = 0, kZlib = 1, kZstd = 2 };

// SealRing: one of a model's two rings, each with its own parameters and keys. The matching ring is
// for probes of an identification, scores and evaluation keys; the enrolment ring for samples to
// enrol or verify.
enum class SealRing : uint8_t { kMatching = 0, kEnrolment = 1 };

// ParseSealCompression: reads "none", "zlib" or "zstd". ParseSealRing: reads "matching" or
// "enrolment". kInvalidArgument lists these names.
HEFT_EXPORT absl::StatusOr<SealCompression> ParseSealCompression(std::string_view name);
HEFT_EXPORT absl::StatusOr<SealRing> ParseSealRing(std::string_view name);

// SealFile: an object of SEAL.
struct SealFile {
  std::span<const uint8_t> bytes;
  std::string name;  // in errors
};

// SealParameters: SEAL's encryption parameters for a model, and how to use them. Encrypt at `scale`
// and the first level. Create a relinearisation key, and Galois keys for the conjugation (step 0)
// and for these rotations to the left, unless the list is empty, as for the enrolment ring: SEAL
// cannot create its evaluation keys, because they lead to the other ring.
struct SealParameters {
  std::vector<uint8_t> parameters;  // SEAL's EncryptionParameters
  std::string ring;                 // "matching" or "enrolment"
  std::string description;          // a description in words
  uint32_t degree = 0;              // degree of the ring
  std::vector<uint32_t> primes;     // the primes, the special one last
  double scale = 0;                 // scale at which to encrypt, at the first level
  std::vector<uint32_t> runs;       // runs of each modality (docs/seal.md, "Samples")
  // Steps for which to make Galois keys, beside the conjugation's; none for the enrolment ring.
  std::vector<uint32_t> rotation_steps;
};
HEFT_EXPORT absl::StatusOr<SealParameters> ExportSealParameters(
    const Model& model, SealCompression compression, SealRing ring = SealRing::kMatching);

// ExportSealEncryptionKey: SEAL's PublicKey for one ring of an encryption key.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> ExportSealEncryptionKey(
    const Model& model, std::span<const uint8_t> key, std::string_view what,
    SealCompression compression, SealRing ring = SealRing::kMatching);

// SealSamples: SEAL's Ciphertexts, one for each sample, or one for each coordinate of bulk samples,
// in the ring of the samples.
struct SealSamples {
  std::vector<std::vector<uint8_t>> ciphertexts;  // one per sample, or per coordinate if bulk
  std::vector<std::string> labels;                // labels, one per sample
  bool bulk = false;                              // whether each ciphertext is a coordinate
};
HEFT_EXPORT absl::StatusOr<SealSamples> ExportSealSamples(const Model& model, SampleFile samples,
                                                          SealCompression compression,
                                                          const Monitor& monitor = {});

// SealScores: a reply as SEAL's Ciphertexts, in the matching ring.
struct SealScores {
  struct Answer {
    uint32_t slot = 0;
    uint32_t lane = 0;  // 0: the real part, 1: the imaginary part
  };
  struct Reply {
    std::vector<uint8_t> ciphertext;
    // For a verification, and for an identification that not every place answers. Empty: every
    // place of the block answers, by position.
    std::vector<Answer> answers;
    uint64_t block = 0;  // of an identification
  };
  ScoreKind kind = ScoreKind::kIdentification;
  std::string probe, claimed;
  uint64_t templates = 0;               // places, of an identification
  std::vector<std::string> identities;  // by place, empty where it does not answer; or none
  std::vector<Reply> replies;
  // For the probe: slot j holds (1 - s^2) n + i s (2 n + (-1)^j), where n is |z|^2 and s is the
  // secret factor that proves it (docs/seal.md). `squared_norm_turned` holds the same times i
  // (-1)^j, for decoders that return real parts: the mean of its slots is -s. Scores are not
  // cosines yet: divide them by the root of n.
  std::vector<uint8_t> squared_norm, squared_norm_turned;
  // Multiply the score at each position of a block by these: the real parts of all slots, then the
  // imaginary parts. Empty: all are 1.
  std::vector<double> factors;
};
HEFT_EXPORT absl::StatusOr<SealScores> ExportSealScores(const Model& model,
                                                        std::span<const uint8_t> scores,
                                                        std::string_view what,
                                                        SealCompression compression);

// NewKeyId: a new key id. SEAL's files do not name their key. All files for one secret key must
// have the same key id: the one in a HEFT file (heft/inspect.h), or a new one.
HEFT_EXPORT KeyId NewKeyId();

// ImportSealEncryptionKey: converts SEAL's PublicKey; with two rings, one for each.
// kInvalidArgument unless `enrolment` is given exactly if there are two rings.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> ImportSealEncryptionKey(
    const Model& model, const KeyId& key_id, std::span<const uint8_t> key, std::string_view what,
    const SealFile& enrolment = {});

// ImportedEvaluationKeys: a HEFT file of SEAL's GaloisKeys and RelinKeys of the matching ring. With
// two rings they are only for identification: KeyOwner::EnrolmentKeys creates the enrolment keys
// from the imported secret keys (heft/seal_key_owner.h).
struct ImportedEvaluationKeys {
  std::vector<uint8_t> bytes;  // the bytes of HEFT's file
  size_t galois_keys = 0;      // number of Galois keys that were used
};
// ImportSealEvaluationKeys: kFailedPrecondition, with the steps, if Galois keys are missing that
// the model needs.
HEFT_EXPORT absl::StatusOr<ImportedEvaluationKeys> ImportSealEvaluationKeys(
    const Model& model, const KeyId& key_id, const SealFile& galois,
    const SealFile& relinearisation, const Monitor& monitor = {});

// ImportSealSamples: encrypted samples from SEAL's Ciphertexts, one for each sample. Labels: one
// for each sample, one for all, or none. With two rings, the first ciphertext determines the ring:
// samples of the matching ring are probes of an identification, samples of the enrolment ring are
// for enrolment or verification.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> ImportSealSamples(
    const Model& model, std::string_view modality, const KeyId& key_id,
    std::span<const SampleFile> ciphertexts, std::span<const std::string> labels,
    const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_SEAL_H_
