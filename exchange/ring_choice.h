// SPDX-License-Identifier: Apache-2.0
// SealRing of a model: which of its rings an object of SEAL's belongs to.
#ifndef HEFT_EXCHANGE_RING_CHOICE_H_
#define HEFT_EXCHANGE_RING_CHOICE_H_

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "fusion/profile.h"
#include "fusion/rings.h"
#include "heft/seal.h"

namespace heft {

// CheckExchangeable: kInvalidArgument for a model whose keys and ciphertexts must not be given to
// SEAL: its decryptions must be flooded, which SEAL does not do.
inline absl::Status CheckExchangeable(const Model& model) {
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindModelProfile(model.profile));
  if (!profile.flooded) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a model of profile ", profile.name,
                   ": SEAL decrypts without noise flooding, and rescales by one prime; train for "
                   "profile standard to exchange objects with SEAL"));
}

// ExchangeRings: the rings of such a model.
inline absl::StatusOr<Rings> ExchangeRings(const Model& model) {
  HEFT_RETURN_IF_ERROR(CheckExchangeable(model));
  return MakeRings(model);
}

inline const Instance& InstanceOf(const Rings& rings, SealRing ring) {
  return ring == SealRing::kMatching ? rings.matching : rings.enrolment;
}

// RingOptionOf: as --ring takes it.
inline std::string RingOptionOf(SealRing ring) {
  return ring == SealRing::kMatching ? "matching" : "enrolment";
}

// Needing: `status` with the ring that is needed. SEAL's objects name their parameters by a hash
// alone, and the other ring's fail in several ways.
inline absl::Status Needing(const Rings& rings, SealRing ring, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(std::string(status.message()), " (needed: one of the ", RingOptionOf(ring),
                   " ring, N = ", InstanceOf(rings, ring).params().n(), ")"));
}

// CheckRingFiles: kInvalidArgument unless the enrolment ring's file is given. `object`: "public
// key".
inline absl::Status CheckRingFiles(bool enrolment_given, std::string_view object) {
  if (enrolment_given) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a model has two rings: give the ", std::string(object),
      " of the matching ring and, with --enrolment-in, the one of the enrolment ring (heft-seal "
      "export parameters --ring matching, --ring enrolment)"));
}

}  // namespace heft

#endif  // HEFT_EXCHANGE_RING_CHOICE_H_
