// SPDX-License-Identifier: Apache-2.0
#include "heft/results.h"

#include <ctime>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bytes.h"
#include "base/kinds.h"

namespace heft {

Json WhereJson(std::span<const Condition> where) {
  Json json = Json::array();
  for (const Condition& condition : where) json.push_back(ConditionText(condition));
  return json;
}

std::string RestrictionText(std::span<const Condition> where) {
  if (where.empty()) return "";
  return absl::StrCat(", of those with ",
                      absl::StrJoin(where, ", ", [](std::string* out, const Condition& condition) {
                        absl::StrAppend(out, ConditionText(condition));
                      }));
}

void AddWhereTo(Json* json, std::span<const Condition> where) {
  if (!where.empty()) (*json)["where"] = WhereJson(where);
}

std::string UtcText(Timestamp time) {
  const auto seconds = static_cast<std::time_t>(time);
  std::tm utc = {};
  char text[32] = {};
  if (gmtime_r(&seconds, &utc) == nullptr) return absl::StrCat(time);
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

Json UtcJson(Timestamp time) { return time == 0 ? Json(nullptr) : Json(UtcText(time)); }

std::string_view ScoreKindName(ScoreKind kind) {
  return kind == ScoreKind::kVerification ? "verification" : "identification";
}

std::string_view RateOfName(RateOf of) {
  if (of == RateOf::kComparisons) return "comparisons";
  return of == RateOf::kSearches ? "searches" : "nothing";
}

std::string_view LikelihoodName(Likelihood likelihood) {
  switch (likelihood) {
    case Likelihood::kUnsaid:
      return "";
    case Likelihood::kWeak:
      return "weak";
    case Likelihood::kModerate:
      return "moderate";
    case Likelihood::kStrong:
      return "strong";
  }
  return "";
}

std::string_view RejectionName(Rejection rejection) {
  switch (rejection) {
    case Rejection::kNone:
      return "";
    case Rejection::kPolicy:
      return "REJECTED";
    case Rejection::kEnrolled:
      return "ENROLLED";
    case Rejection::kNotAuthorised:
      return "NOT_AUTHORISED";
    case Rejection::kMisplaced:
      return "MISPLACED";
    case Rejection::kUnsound:
      return "UNSOUND";
  }
  return "";
}

namespace {

template <typename Bytes>
void AddIfAny(std::string_view name, const Bytes& bytes, Described* said) {
  if (bytes == Bytes{}) return;
  said->json[name] = HexString(bytes);
  absl::StrAppend(&said->text, "  ", std::string(name), " ", HexString(bytes), "\n");
}

}  // namespace

std::string TemplateStateName(TemplateState state) {
  switch (state) {
    case TemplateState::kActive:
      return "active";
    case TemplateState::kExpired:
      return "expired";
    case TemplateState::kPending:
      break;
  }
  return "pending";
}

Described DescribeSigned(const SignedFile& file, bool believed) {
  const Statement& s = file.statement;
  const std::string role(RoleName(s.role)), signer = HexString(file.signer);
  Described said;
  said.json = {{"kind", s.kind},
               {"role", role},
               {"signer", signer},
               {"issued", UtcJson(s.issued)},
               {"expires", UtcJson(s.expires)},
               {"believed", believed}};
  said.text = absl::StrCat(KindName(s.kind), " signed as ", role, " with key ", signer, "\n");
  if (!file.signer_name.empty()) {
    said.json["name"] = file.signer_name;
    absl::StrAppend(&said.text, "  name in the trust file: \"", file.signer_name, "\"\n");
  } else {
    absl::StrAppend(&said.text, "  signer unknown: give the trust file with --trust\n");
  }
  AddIfAny("audience", s.audience, &said);
  AddIfAny("subject", s.subject, &said);
  AddIfAny("gallery", s.gallery, &said);
  if (s.gallery != GalleryId{}) {
    said.json["generation"] = s.generation;
    absl::StrAppend(&said.text, "  generation ", s.generation, "\n");
  }
  AddIfAny("request", s.request, &said);
  AddIfAny("nonce", s.nonce, &said);
  absl::StrAppend(&said.text, "  issued at ", UtcText(s.issued), ", ",
                  s.expires == 0 ? "for ever" : absl::StrCat("good until ", UtcText(s.expires)),
                  "\n");
  return said;
}

}  // namespace heft
