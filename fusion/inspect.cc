// SPDX-License-Identifier: Apache-2.0
#include "heft/inspect.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/aligned.h"
#include "base/envelope.h"
#include "base/kinds.h"
#include "base/signed_file.h"
#include "fusion/expanded_keys.h"
#include "fusion/plan.h"
#include "fusion/profile.h"
#include "fusion/rings.h"
#include "fusion/sample_head.h"

namespace heft {
namespace {

ProfileInfo Describe(const std::string& name, const ckks::Params& params) {
  const ckks::Security security = params.security();
  return {name,
          params.Describe(),
          security.Describe(),
          params.n(),
          security.total_bits,
          security.bound_2024_classical,
          security.bound_2024_quantum,
          security.bound_2018_classical};
}

PlanInfo::Matching Describe(const FusionPlan::Matching& matching) {
  PlanInfo::Matching info;
  info.template_limbs = matching.template_limbs;
  info.probe_limbs = matching.probe_limbs;
  info.template_scale = matching.template_scale;
  info.probe_scale = matching.probe_scale;
  info.block_scale = matching.block_scale;
  info.score_scale = matching.score_scale;
  info.masked_scale = matching.masked_scale;
  info.verified_scale = matching.verified_scale;
  info.rotations = matching.grid.count();
  if (matching.short_replies) {
    info.reply_bits = matching.reply_form.bits;
    info.reply_dropped = matching.reply_form.dropped;
    info.reply_raised = matching.reply_form.raised;
  }
  return info;
}

PlanInfo::Ring Describe(std::string_view serves, const Instance& instance) {
  const FusionPlan& plan = instance.plan;
  PlanInfo::Ring info;
  info.serves = serves;
  info.ring_degree = instance.params().n();
  for (const PackedPair& pair : plan.projection.pairs) {
    info.projection.pairs.push_back({pair.first, pair.second, pair.run});
  }
  info.projection.input_limbs = plan.projection.input_limbs;
  info.projection.z_limbs = plan.projection.z_limbs;
  info.projection.input_scale = plan.projection.input_scale;
  info.projection.factor_scale = plan.projection.factor_scale;
  info.projection.z_scale = plan.projection.z_scale;
  info.projection.folds = plan.projection.folds;
  info.projection.folds_before_rescale = plan.projection.folds_before_rescale;
  info.normalisation = {plan.normalisation.polynomial.degree, plan.normalisation.interval_hi,
                        plan.normalisation.folds};
  info.matching = Describe(plan.matching);
  info.galois_keys = plan.keys.galois_keys;
  info.relinearisation_limbs = plan.keys.relinearisation_limbs;
  info.plain_products = plan.plain_products;
  info.ciphertext_products = plan.ciphertext_products;
  info.key_switches = plan.key_switches;
  return info;
}

// IdPlaces: where a payload has the ids; -1: nowhere.
struct IdPlaces {
  int params = -1, key = -1;
};

// PlacesOf: of a kind (docs/formats.md). Other kinds have neither; some are secrets from the first
// byte.
IdPlaces PlacesOf(std::string_view kind) {
  for (const std::string_view head :
       {"PUBK", "EVAL", "ENRK", "SECK", "SHAR", "RKEY", "CTXT", "CTXS", "CTXP", "CTXF", "SCOR",
        "QENR", "ADRQ", "ADMS", "RNRQ", "RNAN"}) {
    if (kind == head) return {.params = 0, .key = 16};
  }
  for (const std::string_view of_key : {"CERE", "PART", "RSHR", "CNRY", "HEAD"}) {
    if (kind == of_key) return {.key = 0};
  }
  if (kind == "JANC") return {.key = 16};
  if (kind == "JKEY") return {.params = 0};
  if (kind == "JOIN") return {.params = 24};
  return {};
}

}  // namespace

absl::StatusOr<FileInfo> InspectFile(std::span<const uint8_t> bytes, std::string_view what) {
  FileInfo info;
  info.bytes = bytes.size();
  HEFT_ASSIGN_OR_RETURN(bytes, Unsigned(bytes, what));
  info.kind = EnvelopeKind(bytes);
  if (info.kind.empty()) {
    return absl::DataLossError(
        absl::StrCat(std::string(what), bytes.empty() ? ": the file is empty"
                                                      : ": not a HEFT file (wrong magic bytes)"));
  }
  info.name = KindName(info.kind);
  info.version = EnvelopeVersion(bytes);
  // A journal grows, so it is no envelope; only the key's owner can check whether it is complete.
  if (info.kind == "JRNL") return info;
  if (info.kind == kExpandedKeysKind) {  // an envelope, and the keys behind it
    const AlignedVector<uint8_t> aligned(bytes.begin(), bytes.end());
    HEFT_ASSIGN_OR_RETURN(const auto keys, ExpandedKeys::Impl::Parse(aligned, nullptr, what));
    info.params_id = keys.params_id();
    info.key_id = keys.key_id();
    return info;
  }
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, info.kind, info.version, what));
  const IdPlaces places = PlacesOf(info.kind);
  const auto take = [&](int place, auto* id) {
    if (place < 0 || payload.size() < place + sizeof(KeyId)) return;
    std::copy_n(payload.begin() + place, sizeof(KeyId), id->emplace().begin());
  };
  take(places.params, &info.params_id);
  take(places.key, &info.key_id);
  HEFT_ASSIGN_OR_RETURN(info.samples, CountSamples(info.kind, payload, what));
  return info;
}

std::string HumanBytes(double bytes) {
  const char* unit = "bytes";
  for (const char* larger : {"kB", "MB", "GB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = larger;
  }
  if (bytes < 10 && unit[0] != 'b') return absl::StrFormat("%.2f %s", bytes, unit);
  return absl::StrFormat("%.0f %s", bytes, unit);
}

absl::StatusOr<ProfileInfo> DescribeProfile(std::string_view name) {
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindProfile(name));
  HEFT_ASSIGN_OR_RETURN(const ckks::Params params, ckks::Params::Create(profile.spec));
  ProfileInfo info = Describe(profile.name, params);
  if (!profile.thin()) return info;
  HEFT_ASSIGN_OR_RETURN(const ckks::Params matching, MatchingParams(params));
  absl::StrAppend(&info.parameters, "; probes, gallery, scores: ", matching.Describe());
  absl::StrAppend(&info.security, "; ", matching.security().Describe());
  return info;
}

std::optional<ProfileInfo> ProfileOf(const ParamsId& params_id) {
  for (const Profile& profile : AllProfiles()) {
    const auto params = ckks::Params::Create(profile.spec);
    if (!params.ok()) continue;
    if (params->id() == params_id) return Describe(profile.name, *params);
    if (!profile.thin()) continue;
    const auto matching = MatchingParams(*params);
    if (matching.ok() && matching->id() == params_id) return Describe(profile.name, *matching);
  }
  return std::nullopt;
}

absl::StatusOr<PlanInfo> DescribePlan(const Model& model) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, MakeRings(model));
  PlanInfo info;
  if (!rings.thin()) {
    info.rings.push_back(Describe("enrolment and matching", rings.enrolment));
  } else {
    info.rings.push_back(Describe("enrolment", rings.enrolment));
    info.rings.push_back(Describe("matching", rings.matching));
  }
  return info;
}

}  // namespace heft
