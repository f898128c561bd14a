// SPDX-License-Identifier: Apache-2.0
// Opener: the one way by which a key owner decrypts a ciphertext: replies and proofs of norms. Of a
// whole key it decrypts; of a shared key it makes this owner's part and adds those of the others.
#ifndef HEFT_OWNER_OPENER_H_
#define HEFT_OWNER_OPENER_H_

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/owner/flooding.h"
#include "ckks/owner/secret_share.h"
#include "fusion/owner/key_share.h"
#include "fusion/rings.h"
#include "heft/trust.h"

namespace heft {

// NoiseFlooding: with what a ciphertext is decrypted; nothing: as it is.
using NoiseFlooding = std::optional<ckks::FloodingOptions>;

// RingName: of a model with two rings.
enum class RingName : uint8_t { kMatching = 0, kEnrolment = 1 };

class Opener {
 public:
  virtual ~Opener() = default;
  // The plaintext, to be wiped by the caller. Errors of CheckFloodingRoom.
  virtual absl::StatusOr<ckks::Plaintext> Open(RingName ring, const ckks::Ciphertext& ciphertext,
                                               const NoiseFlooding& flooding) const = 0;
};

// Decryption: how the ciphertexts of one answer are opened.
struct Decryption {
  const Opener& opener;
  NoiseFlooding flooding;
};

class SecretKeyOpener : public Opener {
 public:
  // Views.
  SecretKeyOpener(const Rings& rings, const SecretKeys& keys) : rings_(rings), keys_(keys) {}
  absl::StatusOr<ckks::Plaintext> Open(RingName ring, const ckks::Ciphertext& ciphertext,
                                       const NoiseFlooding& flooding) const override;

 private:
  const Rings& rings_;
  const SecretKeys& keys_;
};

// CiphertextName: what a partial opening is of: the ring, and a checksum of all residues. It tells
// apart the ciphertexts of files whose hashes the part's subject has (PartSubject). A server that
// writes two ciphertexts with one checksum makes the combining owner add parts of both. It gains
// nothing: it could have sent any other ciphertext instead.
using CiphertextName = std::pair<RingName, uint64_t>;
CiphertextName NameOf(RingName ring, const ckks::Ciphertext& ciphertext);

// PartialOpening: of one ciphertext by one owner.
struct PartialOpening {
  CiphertextName ciphertext;
  ring::RnsPoly part;
};

// OpenPartially: with this owner's share, in the set of owners. kFailedPrecondition without
// flooding.
absl::StatusOr<PartialOpening> OpenPartially(const Rings& rings, const KeyShare& share,
                                             const ckks::OwnerSet& set, RingName ring,
                                             const ckks::Ciphertext& ciphertext,
                                             const NoiseFlooding& flooding);

// PartsOpener: this owner's share, and the partial openings of all others in the set.
class PartsOpener : public Opener {
 public:
  // `rings` and `share` are views.
  PartsOpener(const Rings& rings, const KeyShare& share, ckks::OwnerSet set)
      : rings_(rings), share_(share), set_(std::move(set)) {}
  void Add(uint32_t owner, PartialOpening opening) {
    parts_[opening.ciphertext].insert_or_assign(owner, std::move(opening.part));
  }
  const ckks::OwnerSet& set() const { return set_; }
  // kFailedPrecondition also where another owner's part of this ciphertext is missing.
  absl::StatusOr<ckks::Plaintext> Open(RingName ring, const ckks::Ciphertext& ciphertext,
                                       const NoiseFlooding& flooding) const override;

 private:
  const Rings& rings_;
  const KeyShare& share_;
  ckks::OwnerSet set_;
  std::map<CiphertextName, std::map<uint32_t, ring::RnsPoly>> parts_;  // by owner
};

}  // namespace heft

#endif  // HEFT_OWNER_OPENER_H_
