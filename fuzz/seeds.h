// SPDX-License-Identifier: Apache-2.0
// What make_seeds writes, by subject. Everything that holds ciphertexts is made under the small
// parameters of fuzz.h.
#ifndef HEFT_FUZZ_SEEDS_H_
#define HEFT_FUZZ_SEEDS_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/csprng.h"
#include "base/status.h"
#include "ckks/owner/secret_key.h"
#include "ckks/seeded.h"

namespace heft::fuzz {

class SeedWriter {
 public:
  explicit SeedWriter(std::string root) : root_(std::move(root)) {}
  absl::Status Write(const std::string& target, const std::string& name, ByteSpan bytes) const;
  absl::Status Write(const std::string& target, const std::string& name,
                     std::string_view text) const {
    return Write(target, name, AsBytes(text));
  }

 private:
  std::string root_;
};

// Encrypt: two values at so many limbs.
absl::StatusOr<ckks::SeededCiphertext> Encrypt(const ckks::SecretKey& secret, size_t limbs,
                                               Csprng& rng);

absl::Status WritePlainSeeds(const SeedWriter& seeds);
absl::Status WriteKeySeeds(const SeedWriter& seeds, const ckks::SecretKey& secret, Csprng& rng);
absl::Status WriteSharedKeySeeds(const SeedWriter& seeds);
absl::Status WriteSampleSeeds(const SeedWriter& seeds, const ckks::SecretKey& secret, Csprng& rng);
absl::Status WriteGallerySeeds(const SeedWriter& seeds, const ckks::SecretKey& secret, Csprng& rng);

}  // namespace heft::fuzz

#endif  // HEFT_FUZZ_SEEDS_H_
