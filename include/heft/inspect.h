// SPDX-License-Identifier: Apache-2.0
// The kind of a file, the security of its parameters, and how a model is evaluated. Nothing here
// needs a key. Link heft::server.
#ifndef HEFT_INSPECT_H_
#define HEFT_INSPECT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/files.h"
#include "heft/gallery.h"
#include "heft/model.h"
#include "heft/trust.h"

namespace heft {

// FileInfo: facts from a file's envelope (docs/formats.md); for a signed file, from the file in it.
struct FileInfo {
  std::string kind;                   // kind, four letters: "CTXT"
  std::string name;                   // the kind in words: "encrypted samples"
  uint32_t version = 0;               // version of the format
  size_t bytes = 0;                   // size in bytes
  std::optional<ParamsId> params_id;  // id of the encryption parameters (ProfileOf), if stated
  std::optional<KeyId> key_id;        // id of the secret key that it belongs to, if stated
  uint64_t samples = 0;               // number of encrypted samples
};
// InspectFile: kDataLoss for damaged bytes and files that are not HEFT's; `what` names them.
HEFT_EXPORT absl::StatusOr<FileInfo> InspectFile(std::span<const uint8_t> bytes,
                                                 std::string_view what);
// HumanBytes: "1.5 MB", in powers of ten.
HEFT_EXPORT std::string HumanBytes(double bytes);

// ProfileInfo: a set of encryption parameters and the known bounds of its security.
struct ProfileInfo {
  std::string name;          // name of the profile, standard or flooded
  std::string parameters;    // the parameters in words
  std::string security;      // the security in words: "128-bit classical (2024)"
  uint32_t ring_degree = 0;  // degree of the ring, or of the larger of two
  double total_bits = 0;     // bits of the product of all primes
  // Largest product of primes for 128 bits of security, in bits (ePrint 2024/463).
  int bound_2024_classical = 0;
  // Start of that source's search for a bound against quantum computers.
  int bound_2024_quantum = 0;
  // The same as the first by the HomomorphicEncryption.org standard of 2018.
  int bound_2018_classical = 0;
};
// DescribeProfile: kInvalidArgument lists the profiles.
HEFT_EXPORT absl::StatusOr<ProfileInfo> DescribeProfile(std::string_view name);
// ProfileOf: the profile with these parameters; none for unknown parameters.
HEFT_EXPORT std::optional<ProfileInfo> ProfileOf(const ParamsId& params_id);

// PlanInfo: how a model is evaluated, in one ring or two (docs/design.md, "Two rings"). Each ring
// has the same three parts. A number is 0, and a list empty, if a ring lacks the feature.
struct PlanInfo {
  struct Pair {
    size_t first = 0;  // index of the modality in the real part
    int second = -1;   // in the imaginary part, or -1
    uint32_t run = 1;
  };
  using Folds = std::vector<std::vector<uint32_t>>;  // Galois elements
  struct Projection {
    std::vector<Pair> pairs;
    size_t input_limbs = 0, z_limbs = 0;
    double input_scale = 0, factor_scale = 0, z_scale = 0;
    Folds folds;
    size_t folds_before_rescale = 0;
  };
  struct Normalisation {
    int degree = 0;  // of the polynomial under encryption; 0: the key owner divides by the norm
    double interval_hi = 0;
    Folds folds;
  };
  struct Matching {
    size_t template_limbs = 0, probe_limbs = 0;
    double template_scale = 0, probe_scale = 0, block_scale = 0, score_scale = 0;
    double masked_scale = 0, verified_scale = 0;
    size_t rotations = 0;  // of a probe; 0 if the other ring has the gallery
    int reply_bits = 0;    // short replies: bits a coefficient, dropped of part 0, left out above
    int reply_dropped = 0, reply_raised = 0;
  };
  struct Ring {
    std::string serves;  // "enrolment and matching", "enrolment" or "matching"
    uint32_t ring_degree = 0;
    Projection projection;
    Normalisation normalisation;
    Matching matching;
    std::map<uint32_t, size_t> galois_keys;  // element -> limbs
    size_t relinearisation_limbs = 0;
    size_t plain_products = 0, ciphertext_products = 0, key_switches = 0;  // of one fusion
  };
  std::vector<Ring> rings;  // the one for enrolment first
};
// DescribePlan: kInvalidArgument if the model does not fit its profile.
HEFT_EXPORT absl::StatusOr<PlanInfo> DescribePlan(const Model& model);

// DescribeFile: the kind of `path`, a file or a gallery (heft/gallery.h). Reads all of it and
// checks its integrity. `with_plan`: also PlanJson of a model (heft/results.h). Errors of ReadFile,
// InspectFile, ReadSigned, Model::Parse, Gallery::Open and CheckFiles. `trust`: takes only a signed
// file, and only if its signer is trusted for its role; the other errors are OpenSigned's.
HEFT_EXPORT absl::StatusOr<Described> DescribeFile(const std::string& path, bool with_plan = false,
                                                   const Trust* trust = nullptr);

}  // namespace heft

#endif  // HEFT_INSPECT_H_
