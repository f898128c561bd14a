// SPDX-License-Identifier: Apache-2.0
// Files between server, key owner and registrar before a template joins a gallery
// (gallery/admission.h, gallery/authorisation.h). An accepted file writes the same bytes again and
// has a proof for each template. An accepted authorisation is for one act, identity and gallery.
#include "base/envelope.h"
#include "base/signing.h"
#include "ckks/shape.h"
#include "fuzz/fuzz.h"
#include "gallery/admission.h"
#include "gallery/authorisation.h"
#include "gallery/journal_head.h"

namespace heft::fuzz {
namespace {

void CheckSame(ByteSpan bytes, const std::vector<uint8_t>& again) {
  Check(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()),
        "what is read writes the bytes that it was read from");
}

void CheckProofs(size_t templates, std::span<const ckks::Ciphertext> proofs,
                 std::span<const BatchNorms> batch) {
  const ckks::Context& context = *SmallContext();
  Check(batch.empty() ? proofs.size() == kNormProofs * templates
                      : proofs.empty() && batch.size() == kNormProofs,
        "proofs of each template");
  Check(batch.empty() || templates <= context.slots(), "a slot of the batch for each template");
  for (const ckks::Ciphertext& c : proofs) {
    Check(CheckShape(context, c).ok(), "a proof is a ciphertext");
  }
}

void ReadEnrolment(ByteSpan bytes) {
  // Any gallery's: the binding is what the bytes say.
  GalleryBinding binding;
  if (bytes.size() > kEnvelopeHeaderSize) {
    ByteReader reader(bytes.subspan(kEnvelopeHeaderSize), "binding");
    binding = ReadBinding(reader);
  }
  const auto enrolment = ParseProvenEnrolment(SmallRings(), binding, bytes, "input");
  if (!enrolment.ok()) return CheckRefusal(enrolment.status());
  CheckSame(bytes, SerializeProvenEnrolment(SmallRings(), binding, *enrolment));
  CheckProofs(enrolment->templates.size(), enrolment->proofs, enrolment->norms);
  // A gamma of 0 has nothing to add, and no gallery has it.
  Check(enrolment->bulk()
            ? enrolment->batch.coordinates.size() == binding.gamma
            : enrolment->fused.size() == enrolment->templates.size() || binding.gamma == 0,
        "a ciphertext of each template, or of each coordinate");
}

void ReadRequest(ByteSpan bytes) {
  const auto request = ParseAdmissionRequest(SmallRings(), bytes, "input");
  if (!request.ok()) return CheckRefusal(request.status());
  CheckSame(bytes, SerializeAdmissionRequest(SmallRings(), *request));
  for (const EnrolmentCheck& e : request->enrolments) {
    Check(!e.templates.empty() && e.known.size() == e.templates.size() &&
              e.others.size() == e.templates.size(),
          "a flag and a count of each template");
    CheckProofs(e.templates.size(), e.proofs, e.batch);
  }
}

void ReadAnswer(ByteSpan bytes) {
  const auto admission = ParseAdmission(bytes, "input");
  if (!admission.ok()) return CheckRefusal(admission.status());
  CheckSame(bytes, SerializeAdmission(*admission));
}

void ReadJournalHead(ByteSpan bytes) {
  const auto head = JournalHead::Parse(bytes, "input");
  if (!head.ok()) return CheckRefusal(head.status());
  CheckSame(bytes, head->Serialize());
  Check(head->sequence > 0 && head->sequence <= kMaxEntries, "an entry that a journal can have");
}

// Signed by a registrar that signs any input.
void ReadAuthorisation(ByteSpan bytes) {
  static const auto* registrar = [] {
    auto key = SigningKeyOfSeed(std::vector<uint8_t>(kSigningSeedSize, 1));
    Check(key.ok(), "a signing key");
    return new SigningKey(*std::move(key));
  }();
  const GalleryId gallery = {1};
  Trust trust;
  Check(trust.Add(Role::kRegistrar, "desk", registrar->public_key()).ok(), "a registrar is listed");
  const auto file = registrar->Sign({.role = Role::kRegistrar, .gallery = gallery}, bytes);
  if (!file.ok()) return;
  const auto allowed = [&](const GalleryId& of, AuthorisedAct act, const std::string& identity) {
    const absl::Status status = CheckAuthorisation(*file, trust, act, of, identity, "input");
    if (!status.ok()) CheckRefusal(status);
    return status.ok();
  };
  if (!allowed(gallery, AuthorisedAct::kAdd, "ann")) return;
  const auto good = SerializeAuthorisation(gallery, AuthorisedAct::kAdd, "ann");
  Check(good.ok(), "an authorisation");
  CheckSame(bytes, *good);
  Check(!allowed({2}, AuthorisedAct::kAdd, "ann") &&
            !allowed(gallery, AuthorisedAct::kRemove, "ann") &&
            !allowed(gallery, AuthorisedAct::kAdd, "bob"),
        "an authorisation is for one act, identity and gallery");
}

void Read(ByteSpan bytes) {
  ReadEnrolment(bytes);
  ReadRequest(bytes);
  ReadAnswer(bytes);
  ReadJournalHead(bytes);
  ReadAuthorisation(bytes);
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heft::fuzz::ReadBothWays({data, size}, heft::fuzz::Read);
  return 0;
}
