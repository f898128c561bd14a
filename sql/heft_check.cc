// SPDX-License-Identifier: Apache-2.0
// heft_check: bytes from anybody, read by the readers that the server itself reads them with.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "ckks/context.h"
#include "fusion/profile.h"
#include "fusion/rings.h"
#include "fusion/samples.h"
#include "gallery/admission.h"
#include "gallery/scores.h"
#include "heft/inspect.h"
#include "heft/model.h"
#include "heft/shards.h"
#include "heft/trust.h"
#include "sql/job.h"

namespace heft::sql {
namespace {

// Parameters: of a profile that there is, and whether they are those in which galleries are
// matched.
struct Ring {
  std::shared_ptr<const ckks::Context> context;
  bool enrols = false, identifies = false;
};

// FindRing: made once a process. kFailedPrecondition for parameters of no profile.
absl::StatusOr<Ring> FindRing(const ckks::ParamsId& id, std::string_view what) {
  static auto* const known = new std::map<ckks::ParamsId, Ring>;
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
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(what), ": of parameters that this version does not know"));
}

absl::StatusOr<SampleReader> ReadSamples(ByteSpan bytes, Ring* ring) {
  HEFT_ASSIGN_OR_RETURN(const FileInfo info, InspectFile(bytes, "value"));
  if (!info.kind.starts_with("CTX") || !info.params_id) {
    return absl::DataLossError(absl::StrCat("value: ", info.name, ", where samples are needed"));
  }
  HEFT_ASSIGN_OR_RETURN(*ring, FindRing(*info.params_id, "value"));
  return SampleReader::Parse(ring->context, {bytes.begin(), bytes.end()}, "value");
}

absl::Status CheckSample(ByteSpan bytes) {
  Ring ring;
  HEFT_ASSIGN_OR_RETURN(const SampleReader samples, ReadSamples(bytes, &ring));
  const SampleHeader& header = samples.header();
  if (header.projected() ? header.use == SampleUse::kEnrolment : ring.enrols) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      "value: a probe, which identifies alone: encrypt samples for enrolment (heft encrypt --for)");
}

absl::Status CheckTemplate(ByteSpan bytes) {
  Ring ring;
  HEFT_ASSIGN_OR_RETURN(const SampleReader samples, ReadSamples(bytes, &ring));
  if (samples.header().encoding == SampleEncoding::kFused) return absl::OkStatus();
  return absl::DataLossError("value: not fused by its client (heft encrypt --fuse client)");
}

absl::Status CheckProbe(ByteSpan bytes) {
  Ring ring;
  HEFT_ASSIGN_OR_RETURN(const SampleReader samples, ReadSamples(bytes, &ring));
  const SampleHeader& header = samples.header();
  if (samples.bulk()) return absl::DataLossError("value: samples in bulk, which are enrolled only");
  if (header.projected() ? header.use == SampleUse::kIdentification : ring.identifies) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      "value: for enrolment: encrypt a probe for identification (heft encrypt --for)");
}

absl::Status CheckReply(ByteSpan bytes) {
  HEFT_ASSIGN_OR_RETURN(const FileInfo info, InspectFile(bytes, "value"));
  if (info.kind != "SCOR" || !info.params_id || !IsSigned(bytes)) {
    return absl::DataLossError(
        absl::StrCat("value: ", info.name, ", where a signed reply is needed"));
  }
  HEFT_ASSIGN_OR_RETURN(const Ring ring, FindRing(*info.params_id, "value"));
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(bytes, "value"));
  return ParseScores(*ring.context, file.file, "value").status();
}

absl::Status CheckKind(ByteSpan bytes, std::initializer_list<std::string_view> kinds) {
  HEFT_ASSIGN_OR_RETURN(const FileInfo info, InspectFile(bytes, "value"));
  for (const std::string_view kind : kinds) {
    if (info.kind == kind) return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat("value: ", info.name, ", where ", std::string(*kinds.begin()), " is needed"));
}

// Whatever of HEFT's may be signed: what is in it.
absl::StatusOr<ByteSpan> Inner(ByteSpan bytes) {
  if (!IsSigned(bytes)) return bytes;
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(bytes, "value"));
  return file.file;
}

absl::Status Check(HeftKind kind, ByteSpan bytes) {
  switch (kind) {
    case HEFT_IS_SAMPLE:
      return CheckSample(bytes);
    case HEFT_IS_TEMPLATE:
      return CheckTemplate(bytes);
    case HEFT_IS_PROBE:
      return CheckProbe(bytes);
    case HEFT_IS_REPLY:
      return CheckReply(bytes);
    case HEFT_IS_MODEL: {
      HEFT_ASSIGN_OR_RETURN(const ByteSpan file, Inner(bytes));
      return Model::Parse(file, "value").status();
    }
    case HEFT_IS_KEYS:
      return CheckKind(bytes, {"EVAL", "ENRK"});
    case HEFT_IS_REQUEST:
      return CheckKind(bytes, {"ADRQ", "RNRQ"});
    case HEFT_IS_ADMISSION: {
      HEFT_RETURN_IF_ERROR(CheckKind(bytes, {"ADMS"}));
      HEFT_ASSIGN_OR_RETURN(const ByteSpan file, Inner(bytes));
      return ParseAdmission(file, "value").status();
    }
  }
  return absl::InternalError("an unknown type");
}

}  // namespace
}  // namespace heft::sql

extern "C" int heft_bucket_of(const char* identity, size_t size, int buckets) {
  if (buckets < 1 || buckets > static_cast<int>(heft::kMostBuckets)) return -1;
  return static_cast<int>(heft::BucketOf({identity, size}, static_cast<uint32_t>(buckets)));
}

extern "C" bool heft_check(HeftKind kind, const void* data, size_t size, char* error,
                           size_t error_size) {
  const absl::Status checked = heft::sql::Catching([&] {
    return heft::sql::Check(kind, {static_cast<const uint8_t*>(data), size});
  });
  if (checked.ok()) return true;
  const std::string message(checked.message());
  const size_t length = std::min(message.size(), error_size - 1);
  std::memcpy(error, message.data(), length);
  error[length] = 0;
  return false;
}
