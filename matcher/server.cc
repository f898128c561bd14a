// SPDX-License-Identifier: Apache-2.0
#include "heft/server.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/inside.h"
#include "base/progress.h"
#include "base/threads.h"
#include "fusion/expanded_keys.h"
#include "fusion/fuser.h"
#include "fusion/key_files.h"
#include "fusion/norm_proof.h"
#include "gallery/admission.h"
#include "gallery/change.h"
#include "matcher/folder_key.h"
#include "matcher/server_impl.h"
#include "matcher/server_internal.h"

namespace heft {

namespace internal {

absl::Status Report(const ProgressFunction& progress, size_t done, size_t total) {
  if (progress && !progress(done, total)) return absl::CancelledError("interrupted");
  return absl::OkStatus();
}

absl::StatusOr<const SampleReader*> FirstOfEqualFiles(const SampleSet& samples,
                                                      std::string_view what) {
  const SampleReader* first = nullptr;
  for (size_t m = 0; m < samples.modalities(); ++m) {
    const SampleReader* file = samples.modality(m);
    if (file == nullptr) continue;
    if (first == nullptr) first = file;
    if (file->size() != first->size()) {
      return absl::InvalidArgumentError(absl::StrCat(file->what(), " has ", file->size(),
                                                     " samples, ", first->what(), " has ",
                                                     first->size(), ": ", std::string(what)));
    }
  }
  return first;
}

std::vector<const ckks::Ciphertext*> Present(const std::vector<ckks::Ciphertext>& row) {
  std::vector<const ckks::Ciphertext*> out;
  for (const ckks::Ciphertext& c : row) out.push_back(c.parts.empty() ? nullptr : &c);
  return out;
}

}  // namespace internal

using internal::FirstOfEqualFiles;
using internal::Report;

absl::StatusOr<SampleSet> SampleSet::Create(const Instance& instance, const Model& model,
                                            std::vector<SampleReader> files) {
  if (files.empty()) return absl::InvalidArgumentError("no encrypted samples given");
  SampleSet set;
  set.by_modality_.resize(model.modalities.size());
  set.key_id_ = files[0].header().key_id;
  set.params_id_ = files[0].header().params_id;
  set.encoding_ = files[0].header().encoding;
  set.use_ = files[0].header().use;
  if (set.fused() && files.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        files[0].what(), ": has all modalities fused in one file: give no other file"));
  }
  for (SampleReader& file : files) {
    size_t index = 0;
    if (!set.fused()) {
      HEFT_ASSIGN_OR_RETURN(index, model.FindModality(file.header().modality));
    }
    if (file.header().params_id != set.params_id_) {
      return absl::InvalidArgumentError(absl::StrCat(
          file.what(), ": for another use than the first file: encrypt all modalities alike"));
    }
    HEFT_RETURN_IF_ERROR(CheckSamples(instance, model, index, file.header(), file.what()));
    HEFT_RETURN_IF_ERROR(CheckKeyId(set.key_id_, file.header().key_id, file.what()));
    if (file.header().encoding != set.encoding_ || file.header().use != set.use_) {
      const bool of_bulk = file.bulk() != set.bulk();
      return absl::InvalidArgumentError(absl::StrCat(
          file.what(), ": encrypted ",
          of_bulk ? (file.bulk() ? "with --bulk" : "without --bulk") : "in another way",
          ", unlike the first file: encrypt all modalities alike"));
    }
    if (set.by_modality_[index] != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("two files of modality ", file.header().modality));
    }
    if (file.size() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(file.what(), " holds no samples"));
    }
    set.files_.push_back(std::make_unique<SampleReader>(std::move(file)));
    set.by_modality_[index] = set.files_.back().get();
  }
  return set;
}

uint32_t SampleSet::present() const {
  if (fused()) return by_modality_[0]->header().modalities;
  uint32_t set = 0;
  for (size_t m = 0; m < by_modality_.size(); ++m) {
    if (by_modality_[m] != nullptr) set |= uint32_t{1} << m;
  }
  return set;
}

absl::StatusOr<std::unique_ptr<Server::Impl>> Server::Impl::Create(
    const Model& model, std::span<const uint8_t> evaluation_keys, std::string_view what,
    std::span<const uint8_t> enrolment_keys, std::string_view enrolment_what) {
  return CreateFrom(model, {evaluation_keys, what}, {enrolment_keys, enrolment_what});
}

namespace {
Checksum ChecksumOf(const KeyFile& keys) {
  return keys.verified ? Checksum::kKnown : Checksum::kCheck;
}
}  // namespace

absl::StatusOr<std::unique_ptr<Server::Impl>> Server::Impl::CreateFrom(const Model& model,
                                                                       const KeyFile& evaluation,
                                                                       const KeyFile& enrolment) {
  HEFT_ASSIGN_OR_RETURN(Rings rings, MakeRings(model));
  RingKeys keys;
  if (evaluation.expanded != nullptr) {
    HEFT_RETURN_IF_ERROR(TakeExpandedKeys(rings, Inside::Of(*evaluation.expanded),
                                          kEvaluationKeysKind, evaluation.what, &keys));
  } else {
    HEFT_ASSIGN_OR_RETURN(keys.matching,
                          ParseEvaluationKeys(*rings.matching.context, evaluation.bytes,
                                              evaluation.what, ChecksumOf(evaluation)));
  }
  if (enrolment.expanded != nullptr) {
    HEFT_RETURN_IF_ERROR(TakeExpandedKeys(rings, Inside::Of(*enrolment.expanded),
                                          kEnrolmentKeysKind, enrolment.what, &keys));
  } else if (!enrolment.bytes.empty()) {
    HEFT_RETURN_IF_ERROR(
        ParseEnrolmentKeys(rings, enrolment.bytes, enrolment.what, &keys, ChecksumOf(enrolment)));
  }
  return Create(model, std::move(rings), std::move(keys));
}

absl::StatusOr<std::unique_ptr<Server::Impl>> Server::Impl::Create(const Model& model,
                                                                   RingKeys keys) {
  HEFT_ASSIGN_OR_RETURN(Rings rings, MakeRings(model));
  return Create(model, std::move(rings), std::move(keys));
}

namespace {

// Found out at once, although what uses the keys is made later.
absl::Status CheckPlanKeys(const Instance& instance, const ckks::EvaluationKeys& keys) {
  FusionPlan plan = instance.plan;
  FitPlanToKeys(keys, &plan);
  return CheckKeys(plan.keys, keys);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server::Impl>> Server::Impl::Create(const Model& model, Rings rings,
                                                                   RingKeys keys) {
  HEFT_RETURN_IF_ERROR(CheckPlanKeys(rings.matching, keys.matching));
  if (keys.ring_switch.limbs() > 0) {
    HEFT_RETURN_IF_ERROR(CheckPlanKeys(rings.enrolment, keys.enrolment));
  }
  // One ring: enrolment has the key too, and probes a copy of their own.
  if (rings.thin()) WidenRelinearisation(rings.matching, &keys.matching);
  std::unique_ptr<Impl> server(new Impl);
  server->model_ = model;
  server->rings_ = std::move(rings);
  server->keys_ = std::make_unique<RingKeys>(std::move(keys));
  server->binding_ = BindingOf(server->instance(), model, server->keys().key_id);
  return server;
}

absl::StatusOr<SampleSet> Server::Impl::Read(std::vector<SampleFile> files) const {
  std::vector<SampleReader> readers;
  const Instance* ring = &rings_.enrolment;
  for (SampleFile& file : files) {
    ring = SampleParamsId(file.bytes) == rings_.matching.params().id() ? &rings_.matching
                                                                       : &rings_.enrolment;
    HEFT_ASSIGN_OR_RETURN(
        SampleReader reader,
        SampleReader::Parse(ring->context, std::move(file.bytes), std::move(file.name)));
    readers.push_back(std::move(reader));
  }
  return SampleSet::Create(*ring, model_, std::move(readers));
}

absl::StatusOr<Gallery::Impl> Server::Impl::OpenGallery(const std::string& directory,
                                                        bool create) const {
  auto gallery = Gallery::Impl::Open(directory);
  if (create && absl::IsNotFound(gallery.status())) {
    HEFT_RETURN_IF_ERROR(Gallery::Impl::CheckVacant(directory));
    return Gallery::Impl::New(directory, binding());
  }
  HEFT_RETURN_IF_ERROR(gallery.status());
  HEFT_RETURN_IF_ERROR(gallery->CheckFits(instance(), binding()));
  return gallery;
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

absl::StatusOr<Server> Server::Create(const Model& model, std::span<const uint8_t> evaluation_keys,
                                      std::string_view what,
                                      std::span<const uint8_t> enrolment_keys,
                                      std::string_view enrolment_what) {
  HEFT_ASSIGN_OR_RETURN(auto impl,
                        Impl::Create(model, evaluation_keys, what, enrolment_keys, enrolment_what));
  return Server(std::move(impl));
}

absl::StatusOr<Server> Server::CreateFrom(const Model& model, const KeyFile& evaluation,
                                          const KeyFile& enrolment) {
  HEFT_ASSIGN_OR_RETURN(auto impl, Impl::CreateFrom(model, evaluation, enrolment));
  return Server(std::move(impl));
}

namespace {

// A digest of the files' contents without signatures: a repeated request may have a new signature.
Digest WhatIsBrought(std::span<const SampleFile> files) {
  std::vector<ByteSpan> bytes;
  for (const SampleFile& file : files) {
    bytes.push_back(file.bytes);
    if (!IsSigned(file.bytes)) continue;
    if (const auto opened = ReadSigned(file.bytes, file.name); opened.ok()) {
      bytes.back() = opened->file;
    }
  }
  return FilesDigest(bytes);
}

}  // namespace

absl::StatusOr<std::optional<EnrolResult>> Server::EnrolledBefore(
    const std::string& folder, std::span<const SampleFile> files,
    const EnrolOptions& options) const {
  return impl_->EnrolledBefore(folder, options, WhatIsBrought(files));
}

absl::StatusOr<EnrolResult> Server::Enrol(const std::string& folder, std::vector<SampleFile> files,
                                          const EnrolOptions& options,
                                          const Monitor& monitor) const {
  HEFT_RETURN_IF_ERROR(CheckMetadata(options.metadata));
  HEFT_ASSIGN_OR_RETURN(const auto before, EnrolledBefore(folder, files, options));
  if (before) return *before;
  const Digest digest = WhatIsBrought(files);
  HEFT_ASSIGN_OR_RETURN(const SampleSet samples, impl_->Read(std::move(files)));
  const Progress progress(monitor, "enrolling");
  auto done = impl_->EnrolPending(folder, samples, options, progress.Callback(), digest);
  if (done.ok()) RemoveLeftovers(FolderOf(folder));
  return done;
}

absl::StatusOr<std::vector<uint8_t>> Server::Pending(const Gallery& gallery) const {
  HEFT_ASSIGN_OR_RETURN(const AdmissionRequest request, impl_->Pending(Inside::Of(gallery)));
  return SerializeAdmissionRequest(impl_->rings(), request);
}

absl::StatusOr<ActivateResult> Server::Activate(const std::string& folder,
                                                std::span<const uint8_t> admission,
                                                std::string_view what, const Trust& trust,
                                                const Monitor& monitor) const {
  Expected expected;
  expected.roles = {Role::kKeyOwner};
  expected.kind = kAdmissionKind;
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, OpenSigned(admission, trust, expected, what));
  HEFT_ASSIGN_OR_RETURN(const Admission parsed, ParseAdmission(file.file, what));
  // First: a key owner whose journal has forked approves no template.
  if (!parsed.head.empty()) {
    HEFT_ASSIGN_OR_RETURN(
        const SignedJournalHead head,
        OpenHead(parsed.head, file.signer, parsed.binding.key_id, "the head in the admission"));
    HEFT_ASSIGN_OR_RETURN(Gallery::Impl gallery, Gallery::Impl::Open(folder));
    gallery = gallery.Unread();  // an erasing writer waits for all holds on a state
    if (gallery.id() == parsed.gallery && gallery.binding() == parsed.binding) {
      HEFT_RETURN_IF_ERROR(KeepHead(folder, head).status());
    }
  }
  const Progress progress(monitor, "activating");
  HEFT_ASSIGN_OR_RETURN(ActivateResult done,
                        impl_->Activate(folder, parsed, &trust, progress.Callback()));
  // The admission is committed, so this is no error of it.
  done.kept = KeepState(folder, parsed, admission);
  RemoveLeftovers(FolderOf(folder));
  return done;
}

absl::StatusOr<ActivateResult> Server::Activate(const std::string& folder,
                                                std::span<const uint8_t> admission,
                                                std::string_view what, const SignerKey& key_owner,
                                                const Monitor& monitor) const {
  Trust trust;
  HEFT_RETURN_IF_ERROR(trust.Add(Role::kKeyOwner, "the key owner", key_owner));
  return Activate(folder, admission, what, trust, monitor);
}

absl::Status Server::Fold(const std::string& folder) const {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl gallery, impl_->OpenGallery(folder, /*create=*/false));
  if (gallery.pending() == 0) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(GalleryChange change,
                        GalleryChange::Begin(std::move(gallery), /*start=*/false));
  HEFT_RETURN_IF_ERROR(change.Fold(impl_->instance(), impl_->keys()));
  HEFT_RETURN_IF_ERROR(change.Commit());
  return change.damaged().empty() ? absl::OkStatus()
                                  : absl::DataLossError(change.damaged().begin()->second);
}

absl::StatusOr<std::vector<uint8_t>> Server::Identify(const Gallery& gallery,
                                                      std::vector<SampleFile> files,
                                                      const ProbeOptions& options,
                                                      const Monitor& monitor) const {
  HEFT_RETURN_IF_ERROR(CheckConditions(options.where));
  HEFT_ASSIGN_OR_RETURN(const SampleSet samples, impl_->Read(std::move(files)));
  const Progress progress(monitor, "matching blocks");
  HEFT_ASSIGN_OR_RETURN(
      const EncryptedScores scores,
      impl_->Identify(Inside::Of(gallery), samples, options, progress.Callback()));
  return SerializeScores(*impl_->instance().context, scores);
}

absl::Status Server::IdentifyAll(
    const Gallery& gallery, std::vector<SampleFile> files, const ProbeOptions& options,
    const std::function<absl::Status(size_t row, std::span<const uint8_t> reply)>& use,
    const Monitor& monitor) const {
  HEFT_RETURN_IF_ERROR(CheckConditions(options.where));
  HEFT_ASSIGN_OR_RETURN(const SampleSet samples, impl_->Read(std::move(files)));
  const Progress progress(monitor, "identifying samples");
  return impl_->IdentifyAll(
      Inside::Of(gallery), samples, options,
      [&](size_t row, const EncryptedScores& scores) {
        return use(row, SerializeScores(*impl_->instance().context, scores));
      },
      progress.Callback());
}

std::vector<absl::StatusOr<std::vector<uint8_t>>> Server::IdentifyTogether(
    const Gallery& gallery, std::vector<ProbeRequest> probes) const {
  std::vector<absl::StatusOr<std::vector<uint8_t>>> out(probes.size());
  std::vector<absl::StatusOr<SampleSet>> samples(probes.size());
  ParallelFor(probes.size(), [&](size_t i) {
    const absl::Status conditions = CheckConditions(probes[i].options.where);
    samples[i] = conditions.ok() ? impl_->Read(std::move(probes[i].files)) : conditions;
    if (!samples[i].ok()) out[i] = samples[i].status();
  });
  std::vector<Impl::Asked> asked;
  std::vector<size_t> index;
  for (size_t i = 0; i < probes.size(); ++i) {
    if (!samples[i].ok()) continue;
    asked.push_back({&*samples[i], &probes[i].options});
    index.push_back(i);
  }
  auto scores = impl_->IdentifyTogether(Inside::Of(gallery), asked);
  ParallelFor(scores.size(), [&](size_t i) {
    if (scores[i].ok()) {
      out[index[i]] = SerializeScores(*impl_->instance().context, *scores[i]);
    } else {
      out[index[i]] = scores[i].status();
    }
  });
  return out;
}

absl::StatusOr<std::vector<uint8_t>> Server::Verify(const Gallery& gallery,
                                                    std::vector<SampleFile> files,
                                                    const std::string& identity,
                                                    const ProbeOptions& options) const {
  if (!options.where.empty()) {
    return absl::InvalidArgumentError("a verification is of one identity: it takes no conditions");
  }
  HEFT_ASSIGN_OR_RETURN(const SampleSet samples, impl_->Read(std::move(files)));
  HEFT_ASSIGN_OR_RETURN(const EncryptedScores scores,
                        impl_->Verify(Inside::Of(gallery), samples, identity, options));
  return SerializeScores(*impl_->instance().context, scores);
}

absl::Status Server::VerifyAll(
    const Gallery& gallery, std::vector<SampleFile> files, const std::string& identity,
    const std::function<absl::Status(size_t row, std::span<const uint8_t> reply)>& use,
    const Monitor& monitor) const {
  HEFT_ASSIGN_OR_RETURN(const SampleSet samples, impl_->Read(std::move(files)));
  HEFT_ASSIGN_OR_RETURN(const SampleReader* file,
                        FirstOfEqualFiles(samples, "--all needs the same number"));
  const Progress progress(monitor, "verifying samples");
  ProbeOptions options;
  for (; options.row < file->size(); ++options.row) {
    HEFT_RETURN_IF_ERROR(Report(progress.Callback(), options.row, file->size()));
    HEFT_ASSIGN_OR_RETURN(const EncryptedScores scores,
                          impl_->Verify(Inside::Of(gallery), samples, identity, options));
    HEFT_RETURN_IF_ERROR(use(options.row, SerializeScores(*impl_->instance().context, scores)));
  }
  return Report(progress.Callback(), file->size(), file->size());
}

}  // namespace heft
