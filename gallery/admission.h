// SPDX-License-Identifier: Apache-2.0
// Admission: the messages of server and key owner before a template joins a gallery. The server
// holds pending enrolments and asks (kind ADRQ) with two proofs of each template's norm; the
// key owner answers (kind ADMS, signed). Formats: docs/formats.md.
#ifndef HEFT_GALLERY_ADMISSION_H_
#define HEFT_GALLERY_ADMISSION_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/ciphertext.h"
#include "fusion/norm_proof.h"
#include "fusion/rings.h"
#include "gallery/gallery_impl.h"
#include "heft/gallery.h"
#include "heft/trust.h"

namespace heft {

inline constexpr std::string_view kAdmissionRequestKind = "ADRQ";
inline constexpr std::string_view kAdmissionKind = "ADMS";
inline constexpr std::string_view kPendingKind = "QENR";

// Independent proofs of each norm, so that a false one must succeed twice by chance.
inline constexpr size_t kNormProofs = 2;

// ClientLimits: what one client may have pending in a gallery. All unsigned requests are those
// of one client.
struct ClientLimits {
  uint64_t enrolments = 4000;
  uint64_t bytes = uint64_t{512} << 20;
};
// CheckRoom: kResourceExhausted if an enrolment of so many bytes would exceed the client's limits.
absl::Status CheckRoom(std::span<const Gallery::Impl::PendingEntry> pending,
                       const SignerKey& client, uint64_t bytes, const ClientLimits& limits);

// PendingTemplate: a pending template.
struct PendingTemplate {
  std::string identity;
  SampleDigest sample{};  // of its encrypted samples
  // For a mean: of each of its samples. This and all that follows stays with the server.
  std::vector<SampleDigest> parts{};
  Metadata metadata{};
  uint64_t expires = 0;  // Unix seconds; 0: never
};

// EnrolmentCheck: an enrolment as the key owner sees it, without templates.
struct EnrolmentCheck {
  Digest entry{};  // SHA-256 of the pending enrolment
  std::vector<PendingTemplate> templates;
  // Whether the gallery has the identity already. Then the registrar's authorisation is needed.
  std::vector<bool> known;
  // How many templates of the identity other pending enrolments have, in this request or not.
  std::vector<uint32_t> others;
  SignerKey client{};                  // that sent it; zeros: not signed
  std::vector<uint8_t> authorisation;  // a signed file of kind AUTH, or nothing
  // kNormProofs for each template in order; or for all of a batch in bulk.
  std::vector<ckks::Ciphertext> proofs;
  std::vector<BatchNorms> batch;
};

struct AdmissionRequest {
  GalleryBinding binding;
  GalleryId gallery{};
  uint64_t generation = 0;
  Digest root{};      // of that generation (gallery/merkle.h); zeros: unknown
  uint64_t more = 0;  // pending enrolments that are not in this request
  // The signed end of the key owner's journal that the server holds (gallery/journal_head.h);
  // empty: none.
  std::vector<uint8_t> head;
  std::vector<EnrolmentCheck> enrolments;
};
std::vector<uint8_t> SerializeAdmissionRequest(const Rings& rings, const AdmissionRequest& request);
// kFailedPrecondition for other parameters, kDataLoss.
absl::StatusOr<AdmissionRequest> ParseAdmissionRequest(const Rings& rings, ByteSpan bytes,
                                                       std::string_view what);

// Admission: the key owner's answer, with templates in the order of the request. It also signs the
// state of the asking gallery, before the approved templates join.
struct Admission {
  struct Enrolment {
    Digest entry{};
    std::vector<bool> approved;
  };
  GalleryBinding binding;
  GalleryId gallery{};
  uint64_t generation = 0;
  Digest root{};
  std::vector<uint8_t> head;  // the signed end of the key owner's journal now; empty: none
  std::vector<Enrolment> enrolments;
};
std::vector<uint8_t> SerializeAdmission(const Admission& admission);
absl::StatusOr<Admission> ParseAdmission(ByteSpan bytes, std::string_view what);

// KeepState: keeps the newest signed admission in the gallery's folder, for audits: as state.heft,
// or NAME.state.heft for a named gallery. One of an older generation, or without a signed state,
// changes nothing.
std::string StatePath(const std::string& gallery);
absl::Status KeepState(const std::string& gallery, const Admission& admission, ByteSpan bytes);
// DropOldState: deletes the kept admission if it is of an earlier generation. It certifies nothing
// any more, and lists digests of enrolments that may have been erased since.
absl::Status DropOldState(const std::string& gallery, uint64_t generation);

// ProvenEnrolment: a pending enrolment: single templates, or a batch in bulk that has no place
// yet.
struct ProvenEnrolment {
  std::vector<PendingTemplate> templates;
  std::vector<uint8_t> authorisation;
  std::vector<ckks::Ciphertext> fused;   // single: one per template
  std::vector<ckks::Ciphertext> proofs;  // single
  TemplateBatch batch;                   // bulk
  std::vector<BatchNorms> norms;         // bulk

  bool bulk() const { return !batch.coordinates.empty(); }
};
std::vector<uint8_t> SerializeProvenEnrolment(const Rings& rings, const GalleryBinding& binding,
                                              const ProvenEnrolment& enrolment);
absl::StatusOr<ProvenEnrolment> ParseProvenEnrolment(const Rings& rings,
                                                     const GalleryBinding& binding, ByteSpan bytes,
                                                     std::string_view what);

}  // namespace heft

#endif  // HEFT_GALLERY_ADMISSION_H_
