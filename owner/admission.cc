// SPDX-License-Identifier: Apache-2.0
// The key owner's side of admission: it opens the proofs of norms, and nothing else of a template.
#include "gallery/admission.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/secure.h"
#include "base/signed_file.h"
#include "fusion/errors.h"
#include "fusion/key_files.h"
#include "fusion/norm_proof.h"
#include "fusion/owner/keygen.h"
#include "gallery/authorisation.h"
#include "owner/contested.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

absl::Status CheckProofForm(const ckks::Ciphertext& c, size_t limbs, double scale) {
  if (c.size() == 2 && c.limbs() == limbs && std::abs(c.scale - scale) <= 1e-6 * scale) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError("not the form of a norm's proof");
}

// What a template's norm, or the lack of one, says against it.
Finding Flaw(const absl::StatusOr<double>& norm, const Interval& interval) {
  if (!norm.ok()) return Finding::Of(Rejection::kUnsound, std::string(norm.status().message()));
  if (interval.Contains(*norm)) return {};
  const std::string outside = absl::StrFormat("outside [%.3f, %.3f]", interval.lo, interval.hi);
  return {Rejection::kUnsound,
          outside,
          absl::StrFormat("squared norm %.3f, %s", *norm, outside),
          *norm,
          {}};
}

bool Chosen(const ApprovalPolicy& policy, const std::string& identity) {
  return policy.only.empty() || std::ranges::count(policy.only, identity) > 0;
}

absl::Status CheckEntries(const std::vector<Digest>& entries, const AdmissionRequest& request) {
  for (const Digest& entry : entries) {
    if (std::ranges::count(request.enrolments, entry, &EnrolmentCheck::entry) > 0) continue;
    return absl::NotFoundError(
        absl::StrCat("entry ", HexString(entry),
                     " is not in this request: it was decided before, or is not of this gallery"));
  }
  return absl::OkStatus();
}

// Whether an enrolment is decided now; one that is not waits on.
bool Decides(const ApprovalPolicy& policy, const EnrolmentCheck& check) {
  const auto& entries = policy.entries;
  if (std::ranges::count(policy.hold, check.entry) > 0) return false;
  return (entries.empty() || std::ranges::count(entries, check.entry) > 0) &&
         std::ranges::any_of(check.templates,
                             [&](const PendingTemplate& t) { return Chosen(policy, t.identity); });
}

std::vector<const EnrolmentCheck*> Decided(const ApprovalPolicy& policy,
                                           const AdmissionRequest& request) {
  std::vector<const EnrolmentCheck*> out;
  for (const EnrolmentCheck& check : request.enrolments) {
    if (Decides(policy, check)) out.push_back(&check);
  }
  return out;
}

// CountProofs: as the journal counts them.
uint64_t CountProofs(std::span<const EnrolmentCheck* const> enrolments) {
  uint64_t count = 0;
  for (const EnrolmentCheck* const one : enrolments) {
    count += one->batch.size() * kProofsOfABatch + one->proofs.size();
  }
  return count;
}

}  // namespace

uint64_t KeyOwner::Impl::MostProofs() const {
  return flooded_ ? kFloodedProofs / (uint64_t{Parts()} * Secrets() * Witnesses()) : 0;
}

absl::StatusOr<KeyOwner::Impl::Proof> KeyOwner::Impl::PreparedProof(RingName ring,
                                                                    const ckks::Ciphertext& proof,
                                                                    double noise) const {
  const ckks::Params& matching = rings_.matching.params();
  const FusionPlan& plan = rings_.matching.plan;
  HEFT_RETURN_IF_ERROR(CheckProofForm(proof, ScoreLimbs(matching), NormProofScale(matching, plan)));
  Proof out = {ring, proof, {}};
  if (!flooded_) return out;
  // A proof of the larger ring errs as that of the small one, of a slot twice as much.
  const ckks::Params& own = ring == RingName::kMatching ? matching : rings_.enrolment.params();
  const double degrees = double(own.n()) / matching.n();
  const double least = degrees * NormProofError(matching, plan) * proof.scale;
  // Of a sound template, whatever the file says: another one may wrap around, and is refused.
  out.ciphertext.noise.message = 2 * TemplateNormInterval(model_).hi;
  out.ciphertext.noise.error = std::max(proof.noise.error, least);
  const uint64_t counts = ring == RingName::kMatching ? 1 : kProofsOfABatch;
  const uint64_t proofs = MostProofs() * Witnesses() / counts;
  out.flooding = {Flooding().security_bits, 2 * proofs, noise, Parts(), Secrets()};
  return out;
}

absl::StatusOr<std::vector<ckks::Complex>> KeyOwner::Impl::OpenProof(const Opener& opener,
                                                                     RingName ring,
                                                                     const ckks::Ciphertext& proof,
                                                                     double noise) const {
  HEFT_ASSIGN_OR_RETURN(const Proof prepared, PreparedProof(ring, proof, noise));
  HEFT_ASSIGN_OR_RETURN(ckks::Plaintext plain,
                        opener.Open(ring, prepared.ciphertext, prepared.flooding));
  const Instance& instance = ring == RingName::kMatching ? rings_.matching : rings_.enrolment;
  std::vector<ckks::Complex> slots = instance.encoder->Decode(plain);
  SecureWipe(plain.poly.values().data(), plain.poly.values().size_bytes());
  return slots;
}

std::vector<CiphertextName> KeyOwner::Impl::NeededParts(
    std::span<const EnrolmentCheck* const> enrolments) const {
  std::vector<CiphertextName> names;
  if (held_.whole() != nullptr) return names;
  const auto need = [&](RingName ring, const ckks::Ciphertext& ciphertext, double noise) {
    const auto proof = PreparedProof(ring, ciphertext, noise);
    if (!proof.ok()) return;
    const Instance& of = ring == RingName::kMatching ? rings_.matching : rings_.enrolment;
    const auto room = ckks::CheckFloodingRoom(of.params(), proof->ciphertext, *proof->flooding);
    if (room.ok()) names.push_back(NameOf(ring, proof->ciphertext));
  };
  for (const EnrolmentCheck* const check : enrolments) {
    for (const BatchNorms& norms : check->batch) {
      need(RingName::kEnrolment, norms.norms, kBatchNoise);
    }
    for (const ckks::Ciphertext& proof : check->proofs) {
      need(RingName::kMatching, proof, kProofNoise);
    }
  }
  return names;
}

std::vector<Finding> KeyOwner::Impl::Flaws(const EnrolmentCheck& check,
                                           const Opener& opener) const {
  const Interval interval = TemplateNormInterval(model_);
  std::vector<Finding> flaws(check.templates.size());
  auto note = [&](size_t i, const absl::StatusOr<double>& norm) {
    if (flaws[i].sound()) flaws[i] = Flaw(norm, interval);
  };
  for (const BatchNorms& norms : check.batch) {
    auto slots = OpenProof(opener, RingName::kEnrolment, norms.norms, kBatchNoise);
    for (size_t i = 0; i < flaws.size(); ++i) {
      note(i, slots.ok() ? ReadNormOf((*slots)[i], norms.sigma) : slots.status());
    }
    if (slots.ok()) SecureWipe(slots->data(), slots->size() * sizeof((*slots)[0]));
  }
  for (size_t i = 0; i < check.proofs.size(); ++i) {
    auto slots = OpenProof(opener, RingName::kMatching, check.proofs[i], kProofNoise);
    note(i / kNormProofs,
         slots.ok() ? ReadNorm(*slots, ProofOf::kTemplate, model_.gamma) : slots.status());
    if (slots.ok()) SecureWipe(slots->data(), slots->size() * sizeof((*slots)[0]));
  }
  return flaws;
}

Finding KeyOwner::Impl::Objection(const AdmissionRequest& request, const EnrolmentCheck& check,
                                  size_t i, const ApprovalPolicy& policy) const {
  const std::string& identity = check.templates[i].identity;
  if (std::ranges::count(policy.reject, identity) > 0) {
    return Finding::Of(Rejection::kPolicy, "rejected by name");
  }
  if (std::ranges::count(policy.reject_entries, check.entry) > 0) {
    return Finding::Of(Rejection::kPolicy, "rejected by hand");
  }
  if (!Chosen(policy, identity)) return Finding::Of(Rejection::kPolicy, "not chosen");
  if (policy.shards) {
    const absl::Status belongs =
        CheckBucket(*policy.shards, identity, *policy.shards->Find(request.gallery));
    if (!belongs.ok()) {
      return {Rejection::kMisplaced,
              "in the wrong bucket",
              std::string(belongs.message()),
              {},
              "Send each enrolment to the bucket that the shard list gives for its identity."};
    }
  }
  if (!check.known[i]) return {};
  if (policy.new_identities_only) {
    return Finding::Of(Rejection::kEnrolled, "the identity is enrolled already");
  }
  if (check.authorisation.empty() || !trust_) {
    return Finding::Of(
        Rejection::kEnrolled,
        "the identity is enrolled already, and no registrar has authorised another template",
        "A registrar allows another template (heft authorise --act add).");
  }
  const auto allowed =
      CheckMayEnrol(check.authorisation, *trust_, request.gallery, identity, "the authorisation");
  if (allowed.ok()) return {};
  return Finding::Of(Rejection::kNotAuthorised, std::string(allowed.status().message()));
}

bool KeyOwner::Impl::IsAuthorised(const GalleryId& gallery, const EnrolmentCheck& check,
                                  const std::string& identity) const {
  return !check.authorisation.empty() && trust_ &&
         CheckMayEnrol(check.authorisation, *trust_, gallery, identity, "the authorisation").ok();
}

std::string KeyOwner::Impl::ClientName(const SignerKey& client) const {
  if (client == SignerKey{}) return {};
  for (const Role role : {Role::kClient, Role::kRegistrar, Role::kKeyOwner}) {
    if (!trust_) break;
    for (const Trust::Key& listed : trust_->keys(role)) {
      if (listed.key == client && !listed.name.empty()) return listed.name;
    }
  }
  return HexString(client);
}

absl::StatusOr<AdmissionRequest> KeyOwner::Impl::ReadAdmissionRequest(ByteSpan bytes,
                                                                      std::string_view what) const {
  HEFT_ASSIGN_OR_RETURN(const TrustedReply trusted,
                        CheckSigned(bytes, kAdmissionRequestKind, what));
  HEFT_ASSIGN_OR_RETURN(AdmissionRequest request,
                        ParseAdmissionRequest(rings_, trusted.file, what));
  HEFT_RETURN_IF_ERROR(CheckKeyId(key_id(), request.binding.key_id, what));
  if (request.binding.model_id == model_id_) return request;
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(what), ": enrolments under another model"));
}

absl::StatusOr<AdmissionInquiry> KeyOwner::Impl::ReadInquiry(ByteSpan bytes,
                                                             std::string_view what) const {
  HEFT_ASSIGN_OR_RETURN(const AdmissionRequest request, ReadAdmissionRequest(bytes, what));
  AdmissionInquiry out;
  out.gallery_id = request.gallery;
  out.generation = request.generation;
  out.more = request.more;
  for (const EnrolmentCheck& check : request.enrolments) {
    AdmissionInquiry::Enrolment& enrolment = out.enrolments.emplace_back();
    enrolment.entry = check.entry;
    enrolment.authorised = !check.authorisation.empty();
    enrolment.client = ClientName(check.client);
    for (size_t i = 0; i < check.templates.size(); ++i) {
      enrolment.people.push_back({check.templates[i].identity, check.known[i], check.others[i]});
    }
  }
  return out;
}

absl::StatusOr<KeyOwner::Impl::AskedAdmission> KeyOwner::Impl::CheckAdmission(
    ByteSpan bytes, std::string_view what, const ApprovalPolicy& policy) const {
  HEFT_RETURN_IF_ERROR(journal_->CheckInUse());
  HEFT_ASSIGN_OR_RETURN(AdmissionRequest request, ReadAdmissionRequest(bytes, what));
  HEFT_ASSIGN_OR_RETURN(const std::vector<SignedJournalHead> heads, OpenHeads(request.head, what));
  HEFT_RETURN_IF_ERROR(journal_->CheckInUse(heads));
  if (policy.shards && !policy.shards->Find(request.gallery)) {
    return absl::FailedPreconditionError(absl::StrCat(
        std::string(what), ": gallery ", HexString(request.gallery), " is no bucket of ",
        policy.shards->gallery(), ": give the shard list that it is in, or none"));
  }
  HEFT_RETURN_IF_ERROR(CheckEntries(policy.entries, request));
  HEFT_RETURN_IF_ERROR(CheckEntries(policy.reject_entries, request));
  HEFT_ASSIGN_OR_RETURN(const ByteSpan file, Unsigned(bytes, what));
  PartSubject subject = {{HashBytes(file)},
                         {{request.gallery, request.generation, request.root}},
                         HashBytes(AsBytes("approval of enrolments"))};
  return AskedAdmission{std::move(request), std::move(subject)};
}

absl::Status KeyOwner::Impl::RecordState(const AdmissionRequest& request,
                                         const ApprovalPolicy& policy) const {
  if (request.root == Digest{}) return absl::OkStatus();
  return journal_->Sign({request.gallery, request.generation, request.root}, policy.put_back,
                        policy.shards ? policy.shards->Id() : request.gallery);
}

absl::StatusOr<std::vector<uint8_t>> KeyOwner::Impl::ApprovePart(
    ByteSpan request, std::string_view what, const OwnerSet& set,
    const ApprovalPolicy& policy) const {
  HEFT_RETURN_IF_ERROR(CheckOwnSet(set));
  HEFT_ASSIGN_OR_RETURN(const AskedAdmission asked, CheckAdmission(request, what, policy));
  HEFT_RETURN_IF_ERROR(RecordState(asked.request, policy));
  const std::vector<const EnrolmentCheck*> decided = Decided(policy, asked.request);
  HEFT_RETURN_IF_ERROR(journal_->ChargeProofs(CountProofs(decided), MostProofs()));
  std::vector<PartialOpening> openings;
  // The combining owner refuses proofs without form or room for the same reason.
  const auto open = [&](RingName ring, const ckks::Ciphertext& ciphertext,
                        double noise) -> absl::Status {
    const auto proof = PreparedProof(ring, ciphertext, noise);
    if (absl::IsFailedPrecondition(proof.status())) return absl::OkStatus();
    HEFT_RETURN_IF_ERROR(proof.status());
    auto opening =
        OpenPartially(rings_, *held_.share(), set, ring, proof->ciphertext, proof->flooding);
    if (absl::IsFailedPrecondition(opening.status())) return absl::OkStatus();
    HEFT_RETURN_IF_ERROR(opening.status());
    openings.push_back(*std::move(opening));
    return absl::OkStatus();
  };
  for (const EnrolmentCheck* const check : decided) {
    for (const BatchNorms& norms : check->batch) {
      HEFT_RETURN_IF_ERROR(open(RingName::kEnrolment, norms.norms, kBatchNoise));
    }
    for (const ckks::Ciphertext& proof : check->proofs) {
      HEFT_RETURN_IF_ERROR(open(RingName::kMatching, proof, kProofNoise));
    }
  }
  return SignPart(asked.subject, set, std::move(openings));
}

absl::StatusOr<Admissions> KeyOwner::Impl::Approve(ByteSpan bytes, std::string_view what,
                                                   const ApprovalPolicy& policy,
                                                   const GivenParts& parts) const {
  HEFT_ASSIGN_OR_RETURN(const AskedAdmission asked, CheckAdmission(bytes, what, policy));
  const AdmissionRequest& request = asked.request;
  const std::vector<const EnrolmentCheck*> decided = Decided(policy, request);
  // Before the other owners are asked, which charge what they open.
  HEFT_RETURN_IF_ERROR(journal_->CheckProofs(CountProofs(decided), MostProofs()));
  const std::vector<CiphertextName> needed = NeededParts(decided);
  HEFT_ASSIGN_OR_RETURN(const auto opener,
                        OpenerOf(asked.subject, {parts.files, parts.source, needed}));
  Admission admission;
  admission.binding = request.binding;
  admission.gallery = request.gallery;
  admission.generation = request.generation;
  admission.root = request.root;
  Admissions out;
  HEFT_RETURN_IF_ERROR(journal_->ChargeProofs(CountProofs(decided), MostProofs()));
  // An enrolment is decided as a whole. It stays pending if no template of it is chosen.
  std::vector<ExaminedEnrolment> examined;
  for (const EnrolmentCheck* const check : decided) {
    examined.push_back({.check = check, .findings = Flaws(*check, *opener)});
    for (size_t i = 0; i < check->templates.size(); ++i) {
      Finding& found = examined.back().findings[i];
      if (found.sound()) found = Objection(request, *check, i, policy);
    }
  }
  out.contested = SettleClaims(request,
                               {.chosen = !policy.entries.empty(),
                                .authorised =
                                    [&](const EnrolmentCheck& check, const std::string& identity) {
                                      return IsAuthorised(request.gallery, check, identity);
                                    },
                                .name = [&](const SignerKey& key) { return ClientName(key); }},
                               examined);
  std::vector<Finding> findings;
  for (ExaminedEnrolment& one : examined) {
    if (one.waits) continue;
    Admission::Enrolment& verdict = admission.enrolments.emplace_back();
    verdict.entry = one.check->entry;
    for (size_t i = 0; i < one.findings.size(); ++i) {
      Finding& found = one.findings[i];
      verdict.approved.push_back(found.sound());
      out.verdicts.push_back(
          {one.check->templates[i].identity, found.sound(), found.rejection, found.reason});
      findings.push_back(std::move(found));
    }
  }
  out.groups = GroupRejections(model_, out.verdicts, findings);
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, Signer());
  HEFT_RETURN_IF_ERROR(RecordState(request, policy));
  HEFT_ASSIGN_OR_RETURN(admission.head, SignedHead());
  Statement statement;
  statement.role = Role::kKeyOwner;
  statement.gallery = request.gallery;
  statement.generation = request.generation;
  statement.expires = UnixTime() + kAdmissionLife;
  HEFT_ASSIGN_OR_RETURN(out.signed_admission,
                        signer.Sign(statement, SerializeAdmission(admission)));
  return out;
}

absl::StatusOr<AdmissionInquiry> KeyOwner::ReadInquiry(std::span<const uint8_t> request,
                                                       std::string_view what) const {
  return impl_->ReadInquiry(request, what);
}

absl::StatusOr<Admissions> KeyOwner::Approve(std::span<const uint8_t> request,
                                             std::string_view what, const ApprovalPolicy& policy,
                                             std::span<const ReplyFile> parts) const {
  return impl_->Approve(request, what, policy, {parts, nullptr});
}

absl::StatusOr<Admissions> KeyOwner::Approve(std::span<const uint8_t> request,
                                             std::string_view what, const ApprovalPolicy& policy,
                                             const PartSource& source) const {
  return impl_->Approve(request, what, policy, {{}, &source});
}

}  // namespace heft
