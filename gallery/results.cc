// SPDX-License-Identifier: Apache-2.0
#include "heft/results.h"

#include <ctime>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bytes.h"

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

std::string UtcText(uint64_t time) {
  const auto seconds = static_cast<std::time_t>(time);
  std::tm utc = {};
  char text[32] = {};
  if (gmtime_r(&seconds, &utc) == nullptr) return absl::StrCat(time);
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

Json CopiedJson(const CopiedGallery& copied) {
  return {{"name", copied.name},
          {"gallery_id", HexString(copied.id)},
          {"generation", copied.generation}};
}

Json CopiesJson(std::span<const CopiedGallery> copies) {
  Json json = Json::array();
  for (const CopiedGallery& copy : copies) json.push_back(CopiedJson(copy));
  return json;
}

Json GalleryJson(const GalleryInfo& info) {
  Json revoked = Json::array();
  for (const KeyId& key : info.revoked) revoked.push_back(HexString(key));
  return {{"name", info.name},
          {"gallery_id", HexString(info.id)},
          {"model_id", HexString(info.model)},
          {"key_id", HexString(info.key)},
          {"gamma", info.gamma},
          {"generation", info.generation},
          {"root", HexString(info.root)},
          {"templates", info.live},
          {"leaving", info.leaving},
          {"waiting", info.waiting},
          {"places", info.places},
          {"blocks", info.blocks},
          {"started", info.started},
          {"retention_seconds", info.retained.seconds},
          {"retention_bytes", info.retained.bytes},
          {"revoked_keys", std::move(revoked)},
          {"galleries", info.galleries},
          {"freed", info.freed},
          {"journal_entries", info.journal_entries},
          {"journal_bytes", info.journal_bytes},
          {"unfolded", info.unfolded},
          {"key_since", info.key_since},
          {"verified", info.verified},
          {"intact", info.verified == 0 ? Json(nullptr) : Json(info.intact)},
          {"owner_journal_entry", info.owner_journal_entry},
          {"owner_journal_fork", info.owner_journal_fork},
          {"store_bytes", info.store_bytes},
          {"store_live_bytes", info.store_live_bytes},
          {"readers", info.readers},
          {"noise_margin", info.noise_margin ? Json(*info.noise_margin) : Json(nullptr)}};
}

Json EnrolJson(const EnrolResult& done) {
  Json json = {{"brought", done.brought},
               {"waiting", done.waiting},
               {"templates", done.templates},
               {"blocks", done.blocks},
               {"repeated", done.repeated}};
  if (!done.missing.empty()) json["missing"] = done.missing;
  return json;
}

Json PendingJson(std::span<const PendingEnrolment> pending) {
  Json json = Json::array();
  for (const PendingEnrolment& one : pending) {
    json.push_back(
        Json::object({{"entry", HexString(one.entry)},
                      {"client", one.client == SignerKey{} ? std::string() : HexString(one.client)},
                      {"bytes", one.bytes},
                      {"identities", one.identities}}));
  }
  return json;
}

Json AdmitJson(const AdmitResult& done) {
  Json damaged = Json::array();
  for (const Digest& entry : done.damaged) damaged.push_back(HexString(entry));
  return {{"admitted", done.admitted},
          {"rejected", done.rejected},
          {"waiting", done.waiting},
          {"templates", done.templates},
          {"blocks", done.blocks},
          {"damaged", damaged},
          {"overwritten", done.overwritten.ok()},
          {"kept", done.kept.ok()}};
}

Json RemoveJson(const RemoveResult& done) {
  return {{"removed", done.removed},   {"erased", done.erased},         {"leaving", done.leaving},
          {"rejected", done.rejected}, {"generation", done.generation}, {"persons", done.persons}};
}

Json RenewJson(const RenewResult& done) {
  return {{"blocks", done.blocks}, {"freed", done.freed},     {"moved", done.moved},
          {"erased", done.erased}, {"leaving", done.leaving}, {"generation", done.generation}};
}

Json CompactJson(const CompactResult& done) {
  Json damaged = Json::array();
  for (const DamagedBlock& block : done.damaged) damaged.push_back(block.block);
  return {{"blocks", done.blocks},         {"mended", done.mended}, {"records", done.records},
          {"damaged", std::move(damaged)}, {"sparse", done.sparse}, {"leaving", done.leaving}};
}

Json RestoreJson(const RestoreResult& done) {
  return {{"galleries", CopiesJson(done.galleries)},
          {"older", done.older},
          {"erased", done.erased},
          {"leaving", done.leaving},
          {"rejected", done.rejected}};
}

Json VerifyJson(const VerifyResult& found) {
  return {{"intact", found.intact()},
          {"generation", found.generation},
          {"blocks", found.blocks},
          {"damaged", found.damaged},
          {"complaints", found.complaints}};
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

Json ListedJson(const ListedTemplate& listed) {
  const Json identity = {{"identity", listed.identity}, {"state", TemplateStateName(listed.state)}};
  if (listed.state == TemplateState::kPending) return identity;
  Json metadata = Json::object();
  for (const MetadataPair& pair : listed.metadata) metadata[pair.key].push_back(pair.value);
  Json json = identity;
  json.update({{"position", listed.position},
               {"person", listed.person},
               {"generation", listed.generation},
               {"enrolled", listed.enrolled},
               {"expires", listed.expires},
               {"metadata", std::move(metadata)}});
  return json;
}

Described DescribeSigned(const SignedFile& file, bool believed) {
  const Statement& s = file.statement;
  const std::string role(RoleName(s.role)), signer = HexString(file.signer);
  Described said;
  said.json = {{"kind", s.kind},     {"role", role},         {"signer", signer},
               {"issued", s.issued}, {"expires", s.expires}, {"believed", believed}};
  said.text = absl::StrCat(s.kind, " signed as ", role, " with key ", signer, "\n");
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
