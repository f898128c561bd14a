// SPDX-License-Identifier: Apache-2.0
#include "matcher/file_check.h"

#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/kinds.h"
#include "ckks/context.h"
#include "fusion/profile.h"
#include "fusion/samples.h"
#include "gallery/admission.h"
#include "gallery/scores.h"
#include "heft/inspect.h"
#include "heft/model.h"
#include "heft/trust.h"

namespace heft {
namespace {

absl::Status Unfit(std::string_view what, std::string_view why) {
  return absl::DataLossError(absl::StrCat(std::string(what), ": ", std::string(why)));
}

// Ring: of an existing profile, and its uses.
struct Ring {
  std::shared_ptr<const ckks::Context> context;
  bool enrols = false, identifies = false;
};

// FindRing: made once a process. kFailedPrecondition for parameters of no profile.
absl::StatusOr<Ring> FindRing(const ckks::ParamsId& id, std::string_view what) {
  static auto* const mutex = new std::mutex;
  static auto* const known = new std::map<ckks::ParamsId, Ring>;
  const std::lock_guard<std::mutex> lock(*mutex);
  if (const auto found = known->find(id); found != known->end()) return found->second;
  for (const Profile& profile : AllProfiles()) {
    HEFT_ASSIGN_OR_RETURN(const ckks::Params params, ckks::Params::Create(profile.spec));
    std::vector<std::pair<ckks::Params, Ring>> rings;
    rings.push_back({params, {nullptr, true, !profile.thin()}});
    if (profile.thin()) {
      HEFT_ASSIGN_OR_RETURN(const ckks::Params matching, MatchingParams(params));
      rings.push_back({matching, {nullptr, false, true}});
    }
    for (auto& [of, ring] : rings) {
      if (of.id() != id) continue;
      ring.context = std::make_shared<const ckks::Context>(of);
      return known->emplace(id, ring).first->second;
    }
  }
  return absl::FailedPreconditionError(absl::StrCat(
      std::string(what), ": has encryption parameters that this version does not know"));
}

absl::StatusOr<SampleReader> ReadSamples(ByteSpan bytes, std::string_view what, Ring* ring) {
  HEFT_ASSIGN_OR_RETURN(const FileInfo info, InspectFile(bytes, what));
  if (!info.kind.starts_with("CTX") || !info.params_id) {
    return Unfit(what, info.name + ", but encrypted samples are needed");
  }
  HEFT_ASSIGN_OR_RETURN(*ring, FindRing(*info.params_id, what));
  return SampleReader::Parse(ring->context, {bytes.begin(), bytes.end()}, std::string(what));
}

absl::Status CheckSample(ByteSpan bytes, std::string_view what) {
  Ring ring;
  HEFT_ASSIGN_OR_RETURN(const SampleReader samples, ReadSamples(bytes, what, &ring));
  const SampleHeader& header = samples.header();
  if (header.projected() ? header.use == SampleUse::kEnrolment : ring.enrols) {
    return absl::OkStatus();
  }
  return Unfit(
      what, "a probe for identification only: encrypt samples for enrolment (heft encrypt --for)");
}

absl::Status CheckTemplate(ByteSpan bytes, std::string_view what) {
  Ring ring;
  HEFT_ASSIGN_OR_RETURN(const SampleReader samples, ReadSamples(bytes, what, &ring));
  if (samples.header().encoding == SampleEncoding::kFused) return absl::OkStatus();
  return Unfit(what, "not fused by the client: encrypt with heft encrypt --fuse client");
}

absl::Status CheckProbe(ByteSpan bytes, std::string_view what) {
  Ring ring;
  HEFT_ASSIGN_OR_RETURN(const SampleReader samples, ReadSamples(bytes, what, &ring));
  const SampleHeader& header = samples.header();
  if (samples.bulk()) {
    return Unfit(what, "bulk samples, which can only be enrolled: encrypt a probe without --bulk");
  }
  if (header.projected() ? header.use == SampleUse::kIdentification : ring.identifies) {
    return absl::OkStatus();
  }
  return Unfit(what, "for enrolment: encrypt a probe for identification (heft encrypt --for)");
}

absl::Status CheckReply(ByteSpan bytes, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const FileInfo info, InspectFile(bytes, what));
  if (info.kind != "SCOR" || !info.params_id || !IsSigned(bytes)) {
    return Unfit(what, info.name + ", but a signed reply is needed");
  }
  HEFT_ASSIGN_OR_RETURN(const Ring ring, FindRing(*info.params_id, what));
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(bytes, what));
  return ParseScores(*ring.context, file.file, what).status();
}

absl::Status CheckKind(ByteSpan bytes, std::string_view what,
                       std::initializer_list<std::string_view> kinds) {
  HEFT_ASSIGN_OR_RETURN(const FileInfo info, InspectFile(bytes, what));
  for (const std::string_view kind : kinds) {
    if (info.kind == kind) return absl::OkStatus();
  }
  return Unfit(what, absl::StrCat(KindName(info.kind), ", not ", KindName(*kinds.begin())));
}

// The content of any file of HEFT that may be signed.
absl::StatusOr<ByteSpan> Inner(ByteSpan bytes, std::string_view what) {
  if (!IsSigned(bytes)) return bytes;
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(bytes, what));
  return file.file;
}

}  // namespace

absl::Status CheckFile(FileRole role, ByteSpan bytes, std::string_view what) {
  switch (role) {
    case FileRole::kSample:
      return CheckSample(bytes, what);
    case FileRole::kTemplate:
      return CheckTemplate(bytes, what);
    case FileRole::kProbe:
      return CheckProbe(bytes, what);
    case FileRole::kReply:
      return CheckReply(bytes, what);
    case FileRole::kModel: {
      HEFT_ASSIGN_OR_RETURN(const ByteSpan file, Inner(bytes, what));
      return Model::Parse(file, what).status();
    }
    case FileRole::kKeys:
      return CheckKind(bytes, what, {"EVAL", "ENRK"});
    case FileRole::kRequest:
      return CheckKind(bytes, what, {"ADRQ", "RNRQ"});
    case FileRole::kAdmission: {
      HEFT_RETURN_IF_ERROR(CheckKind(bytes, what, {"ADMS"}));
      HEFT_ASSIGN_OR_RETURN(const ByteSpan file, Inner(bytes, what));
      return ParseAdmission(file, what).status();
    }
  }
  return absl::InternalError("an unknown role");
}

}  // namespace heft
