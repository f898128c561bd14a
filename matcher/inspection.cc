// SPDX-License-Identifier: Apache-2.0
// What files and galleries are, as JSON and in words.
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/bytes.h"
#include "base/signed_file.h"
#include "base/status.h"
#include "heft/files.h"
#include "heft/inspect.h"
#include "heft/results.h"
#include "heft/shards.h"
#include "heft/trust.h"
#include "matcher/shared_key_inspection.h"

namespace heft {
namespace {

Json ProjectionJson(const PlanInfo::Projection& projection) {
  Json pairs = Json::array();
  for (const PlanInfo::Pair& pair : projection.pairs) {
    pairs.push_back({{"first", pair.first}, {"second", pair.second}, {"run", pair.run}});
  }
  return {{"pairs", pairs},
          {"input_limbs", projection.input_limbs},
          {"z_limbs", projection.z_limbs},
          {"input_scale", projection.input_scale},
          {"factor_scale", projection.factor_scale},
          {"z_scale", projection.z_scale},
          {"folds", projection.folds},
          {"folds_before_rescale", projection.folds_before_rescale}};
}

Json MatchingJson(const PlanInfo::Matching& matching) {
  Json json = {{"template_limbs", matching.template_limbs},
               {"probe_limbs", matching.probe_limbs},
               {"template_scale", matching.template_scale},
               {"probe_scale", matching.probe_scale},
               {"block_scale", matching.block_scale},
               {"score_scale", matching.score_scale},
               {"masked_scale", matching.masked_scale},
               {"verified_scale", matching.verified_scale},
               {"rotations", matching.rotations}};
  if (matching.reply_bits > 0) {
    json["short_reply"] = {{"bits", matching.reply_bits},
                           {"dropped", matching.reply_dropped},
                           {"raised", matching.reply_raised}};
  }
  return json;
}

Json RingJson(const PlanInfo::Ring& ring) {
  Json keys = Json::array();
  for (const auto& [element, limbs] : ring.galois_keys) {
    keys.push_back({{"element", element}, {"limbs", limbs}});
  }
  return {{"serves", ring.serves},
          {"ring_degree", ring.ring_degree},
          {"projection", ProjectionJson(ring.projection)},
          {"normalisation",
           {{"degree", ring.normalisation.degree},
            {"interval_hi", ring.normalisation.interval_hi},
            {"folds", ring.normalisation.folds}}},
          {"matching", MatchingJson(ring.matching)},
          {"relinearisation_limbs", ring.relinearisation_limbs},
          {"galois_keys", keys},
          {"plain_products", ring.plain_products},
          {"ciphertext_products", ring.ciphertext_products},
          {"key_switches", ring.key_switches}};
}

Json SecurityJson(const ProfileInfo& profile) {
  return {{"level", profile.security},
          {"total_bits", profile.total_bits},
          {"bound_2024_classical", profile.bound_2024_classical},
          {"bound_2024_quantum", profile.bound_2024_quantum},
          {"bound_2024_quantum_is", "unconfirmed: the start of the source's search"},
          {"bound_2018_classical", profile.bound_2018_classical}};
}

// Adds to `json` the profile that has these parameters and the security that it reaches, and
// returns a line about them.
std::string DescribeParams(const ParamsId& params_id, Json* json) {
  const std::optional<ProfileInfo> profile = ProfileOf(params_id);
  if (!profile) return "  parameters of no known profile: security unknown\n";
  (*json)["profile"] = profile->name;
  (*json)["security"] = SecurityJson(*profile);
  return absl::StrFormat("  profile %s: %s (%.1f bits of primes at N = %d)\n", profile->name,
                         profile->security, profile->total_bits, profile->ring_degree);
}

Json SearchesJson(const DecisionTable& table) {
  Json searches = Json::array();
  for (const SearchCalibration& s : table.searches) {
    searches.push_back({{"templates", s.templates},
                        {"people", s.people},
                        {"comparisons", s.comparisons},
                        {"start", s.tail.start},
                        {"rate", s.tail.rate},
                        {"scale", s.tail.scale},
                        {"shape", s.tail.shape},
                        {"evenness", s.tail.evenness},
                        {"replicates", s.replicates.size()}});
  }
  return searches;
}

Json ThresholdsJson(const DecisionTable& table) {
  Json thresholds = Json::array();
  for (const DecisionThreshold& t : table.thresholds) {
    thresholds.push_back({{"fmr", t.fmr},
                          {"score", t.score},
                          {"fnmr", t.fnmr},
                          {"impostor_pairs", t.impostor_pairs},
                          {"interval", {t.interval.lo, t.interval.hi}}});
  }
  return thresholds;
}

Json TablesJson(const Model& model) {
  Json tables = Json::array();
  for (const DecisionTable& table : model.tables) {
    Json calibration;
    if (table.calibration) {
      calibration = {{"slope", table.calibration->slope},
                     {"intercept", table.calibration->intercept}};
    }
    tables.push_back({{"modalities", model.NamesOf(table.modalities)},
                      {"thresholds", ThresholdsJson(table)},
                      {"searches", SearchesJson(table)},
                      {"calibration", std::move(calibration)}});
  }
  return tables;
}

// What decisions there are thresholds for: by decades of the rates.
std::string DescribeTable(const Model& model, const DecisionTable& table) {
  std::string text =
      absl::StrCat("  probes with ", absl::StrJoin(model.NamesOf(table.modalities), " + "), ":\n");
  for (const double fmr : {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
    const auto at = model.ThresholdFor(fmr, table.modalities);
    if (!at.ok()) continue;
    absl::StrAppendFormat(&text, "    1:1, FMR %g: %.3f (on new people %.2g to %.2g)%s\n", fmr,
                          at->score, at->interval.lo, at->interval.hi,
                          at->warning.empty() ? "" : ", based on too few comparisons");
  }
  for (const SearchCalibration& s : table.searches) {
    absl::StrAppendFormat(&text, "    1:N, %d template%s a person, of %d people:", s.templates,
                          s.templates == 1 ? "" : "s", s.people);
    int sizes = 0;
    for (const uint64_t people : {10, 100, 1000, 10000, 100000, 1000000}) {
      const auto at = model.ThresholdForSearch(1e-2, people, s.templates, table.modalities);
      if (!at.ok()) break;
      absl::StrAppendFormat(&text, "%s %.3f among %d", sizes++ == 0 ? " FPIR 0.01 at" : ",",
                            at->score, people);
    }
    absl::StrAppend(&text, sizes == 0 ? " too few people for FPIR 0.01\n" : "\n");
  }
  return text;
}

std::string DescribeDecisions(const Model& model) {
  std::string text;
  for (const DecisionTable& table : model.tables) text += DescribeTable(model, table);
  if (model.tables.empty()) {
    text = "  no decision tables, only scores (heft calibrate --data DATA adds tables)\n";
  }
  if (model.sample_agreement) {
    absl::StrAppendFormat(&text, "  samples of a person agree by %.3f\n", *model.sample_agreement);
  }
  return text;
}

absl::StatusOr<Described> DescribeModel(std::span<const uint8_t> bytes, const std::string& path,
                                        bool with_plan) {
  HEFT_ASSIGN_OR_RETURN(const Model model, Model::Parse(bytes, path));
  HEFT_ASSIGN_OR_RETURN(const PlanInfo plan, DescribePlan(model));
  HEFT_ASSIGN_OR_RETURN(const ProfileInfo profile, DescribeProfile(model.profile));
  Described out{{{"kind", "model"}}};
  HEFT_ASSIGN_OR_RETURN(const Json json, ModelJson(model));
  out.json.update(json);
  std::vector<std::string> names;
  for (const ModalitySpec& m : model.modalities) {
    names.push_back(absl::StrCat(m.name, " ", m.dimension));
  }
  const Interval& interval = model.approximation.interval;
  out.text = absl::StrFormat(
      "model %s, with its decision tables %s\n  %s -> %d dimensions, profile %s\n  %s\n  %s (%.1f "
      "bits "
      "of primes)\n"
      "  normalisation: %s, degree %d on [%.3f, %.3f], worst relative error %.2f%%\n",
      HexString(model.Id()), HexString(model.DecisionId()), absl::StrJoin(names, " + "),
      model.gamma, model.profile, profile.parameters, profile.security, profile.total_bits,
      model.approximation.name, model.approximation.Degree(), interval.lo, interval.hi,
      100 * model.approximation.MaxRelativeError());
  absl::StrAppend(&out.text, DescribeDecisions(model));
  if (!with_plan) return out;
  out.json["plan"] = PlanJson(plan);
  absl::StrAppend(&out.text, "plan:\n", PlanJson(plan).dump(2), "\n");
  return out;
}

absl::StatusOr<Described> DescribeStored(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(path));
  HEFT_RETURN_IF_ERROR(gallery.CheckFiles());
  std::map<std::string, size_t> counts;
  for (const std::string& identity : gallery.identities()) {
    if (!identity.empty()) ++counts[identity];
  }
  Json json = {{"kind", "gallery"},
               {"gallery_id", HexString(gallery.id())},
               {"templates", gallery.size()},
               {"identities", counts.size()},
               {"blocks", gallery.blocks()},
               {"generation", gallery.generation()},
               {"gamma", gallery.gamma()},
               {"model_id", HexString(gallery.model_id())},
               {"key_id", HexString(gallery.key_id())},
               {"params_id", HexString(gallery.params_id())}};
  const std::string params = DescribeParams(gallery.params_id(), &json);
  json["revoked_keys"] = Json::array();
  for (const KeyId& key : gallery.revoked_keys()) json["revoked_keys"].push_back(HexString(key));
  return Described{
      std::move(json),
      absl::StrFormat("gallery %s: templates %d, identities %d, blocks %d, intact\n"
                      "  model %s, key %s, revoked keys %d\n%s",
                      HexString(gallery.id()), gallery.size(), counts.size(), gallery.blocks(),
                      HexString(gallery.model_id()), HexString(gallery.key_id()),
                      gallery.revoked_keys().size(), params)};
}

Described DescribeTrust(const Trust& trust) {
  Described told{{{"kind", "trust file"}}, "trust file\n"};
  const auto add = [&](const std::string& name, const std::vector<Trust::Key>& keys) {
    told.json[name] = Json::array();
    for (const Trust::Key& key : keys) {
      told.json[name].push_back({{"name", key.name}, {"key", HexString(key.key)}});
      absl::StrAppend(&told.text, "  ", name, "  ", HexString(key.key), "  ", key.name, "\n");
    }
  };
  for (const Role role :
       {Role::kKeyOwner, Role::kServer, Role::kClient, Role::kRegistrar, Role::kTrainer}) {
    add(std::string(RoleName(role)), trust.keys(role));
  }
  add("revoked", trust.revoked());
  told.json["galleries"] = Json::array();
  for (const Trust::PinnedGallery& gallery : trust.galleries()) {
    told.json["galleries"].push_back(
        {{"gallery_id", HexString(gallery.id)}, {"generation", gallery.generation}});
    absl::StrAppend(&told.text, "  gallery  ", HexString(gallery.id), ", from generation ",
                    gallery.generation, " on\n");
  }
  return told;
}

// Text files: a trust file, a shard list, a public key. Nothing for any other text; an error for a
// trust file with a mistake.
absl::StatusOr<std::optional<Described>> DescribeText(ByteSpan bytes, const std::string& path) {
  constexpr size_t kLargest = 1 << 20;
  if (bytes.empty() || bytes.size() > kLargest || bytes[0] == 'H') return std::nullopt;
  const std::string text(bytes.begin(), bytes.end());
  if (const auto json = Json::Parse(text, /*max_depth=*/8);
      json.ok() && json->is_object() && json->contains("heft_trust")) {
    HEFT_ASSIGN_OR_RETURN(const Trust trust, Trust::Parse(text, path));
    return DescribeTrust(trust);
  }
  if (const auto shards = ShardList::Parse(text, path); shards.ok()) {
    return Described{{{"kind", "shard list"}, {"buckets", shards->size()}},
                     absl::StrCat("shard list of a gallery in ", shards->size(), " buckets\n")};
  }
  if (const auto key = ParseSignerKey(text); key.ok()) {
    return Described{{{"kind", "public key"}, {"key", HexString(*key)}},
                     absl::StrCat("public key ", HexString(*key), ", for heft trust add\n")};
  }
  return std::nullopt;
}

// A file of HEFT's without its signature, if it has one.
absl::StatusOr<Described> DescribeContent(ByteSpan bytes, const std::string& path, bool with_plan) {
  HEFT_ASSIGN_OR_RETURN(const FileInfo file, InspectFile(bytes, path));
  if (file.kind == "MODL") return DescribeModel(bytes, path, with_plan);
  Json json = {{"kind", file.name}, {"version", file.version}, {"bytes", file.bytes}};
  std::string text = absl::StrCat(file.name, ", version ", file.version, ", ",
                                  HumanBytes(file.bytes), ", intact\n");
  if (file.samples > 0) {
    json["samples"] = file.samples;
    absl::StrAppend(&text, "  ", file.samples, file.samples == 1 ? " sample\n" : " samples\n");
  }
  if (file.params_id) {
    json["params_id"] = HexString(*file.params_id);
    absl::StrAppend(&text, "  parameters ", HexString(*file.params_id), "\n",
                    DescribeParams(*file.params_id, &json));
  }
  if (file.key_id) {
    json["key_id"] = HexString(*file.key_id);
    absl::StrAppend(&text, "  key ", HexString(*file.key_id), "\n");
  }
  if (file.kind == "JRNL" || file.kind == "EXPK")
    return Described{std::move(json), std::move(text)};
  HEFT_ASSIGN_OR_RETURN(const ByteSpan content, Unsigned(bytes, path));
  HEFT_ASSIGN_OR_RETURN(const std::string shared, DescribeSharedKey(content, path, &json));
  text += shared;
  return Described{std::move(json), std::move(text)};
}

bool IsWorkspace(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path + "/workspace.txt", ignored);
}

// RoleOf: the role whose files a folder holds, in a workspace or moved out of one (docs/roles.md);
// empty for another folder.
std::string RoleOf(const std::string& path) {
  std::error_code ignored;
  const auto holds = [&](const char* name) {
    return std::filesystem::is_regular_file(absl::StrCat(path, "/", name), ignored);
  };
  if (!holds("model.heft") || !holds("trust.heft")) return "";
  if (holds("secret.key")) return "owner";
  if (holds("evaluation.keys")) return "server";
  return holds("encryption.key") ? "device" : "";
}

// Adds the gallery that a server's folder holds, if it is there.
absl::Status AddGallery(const std::string& server, Described* told) {
  const std::string gallery = server + "/gallery";
  std::error_code ignored;
  if (!std::filesystem::is_directory(gallery, ignored)) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(Described stored, DescribeStored(gallery));
  told->json["gallery"] = std::move(stored.json);
  told->text += stored.text;
  return absl::OkStatus();
}

absl::StatusOr<Described> DescribeRole(const std::string& path, const std::string& role) {
  Described told{{{"kind", "folder of a role"}, {"role", role}},
                 absl::StrCat("folder of the ", role, ": inspect its files\n")};
  HEFT_RETURN_IF_ERROR(AddGallery(path, &told));
  return told;
}

// Its roles, and the server's gallery where that is still there.
absl::StatusOr<Described> DescribeWorkspace(const std::string& path) {
  Described told{{{"kind", "workspace"}, {"roles", Json::array()}}, "workspace:"};
  std::error_code ignored;
  for (const char* role : {"device", "server", "owner"}) {
    const bool here = std::filesystem::is_directory(path + "/" + role, ignored);
    if (here) told.json["roles"].push_back(role);
    absl::StrAppend(&told.text, " ", role, here ? "" : " (moved away)");
  }
  told.text += "\n";
  HEFT_RETURN_IF_ERROR(AddGallery(path + "/server", &told));
  return told;
}

// A folder, or FOLDER:NAME, where no file is called so.
bool IsGallery(const std::string& path) {
  std::error_code ignored;  // ReadFile says what is wrong with a path
  if (std::filesystem::exists(path, ignored)) return std::filesystem::is_directory(path, ignored);
  const size_t colon = path.rfind(':');
  return colon != std::string::npos &&
         std::filesystem::is_directory(path.substr(0, colon), ignored);
}

}  // namespace

Json PlanJson(const PlanInfo& plan) {
  Json rings = Json::array();
  for (const PlanInfo::Ring& ring : plan.rings) rings.push_back(RingJson(ring));
  return {{"rings", rings}};
}

absl::StatusOr<Json> ModelJson(const Model& model) {
  const absl::StatusOr<ProfileInfo> profile = DescribeProfile(model.profile);
  HEFT_ASSIGN_OR_RETURN(const Json training, Json::Parse(model.training_summary));
  Json modalities = Json::array();
  for (const ModalitySpec& m : model.modalities) {
    modalities.push_back({{"name", m.name}, {"dimension", m.dimension}});
  }
  const Interval& interval = model.approximation.interval;
  Json json = {{"id", HexString(model.Id())},
               {"decision_id", HexString(model.DecisionId())},
               {"modalities", std::move(modalities)},
               {"gamma", model.gamma},
               {"profile", model.profile},
               {"parameters", profile.ok() ? Json(profile->parameters) : Json(nullptr)},
               {"security", profile.ok() ? SecurityJson(*profile) : Json(nullptr)},
               {"approximation",
                {{"name", model.approximation.name},
                 {"degree", model.approximation.Degree()},
                 {"interval", {interval.lo, interval.hi}},
                 {"max_relative_error", model.approximation.MaxRelativeError()}}},
               {"tables", TablesJson(model)},
               {"training", training}};
  if (model.sample_agreement) json["sample_agreement"] = *model.sample_agreement;
  return json;
}

absl::StatusOr<Described> DescribeFile(const std::string& path, bool with_plan,
                                       const Trust* trust) {
  if (trust == nullptr && IsWorkspace(path)) return DescribeWorkspace(path);
  if (const std::string role = RoleOf(path); trust == nullptr && !role.empty()) {
    return DescribeRole(path, role);
  }
  if (trust == nullptr && IsGallery(path)) return DescribeStored(path);
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
  HEFT_ASSIGN_OR_RETURN(std::optional<Described> text, DescribeText(bytes, path));
  if (text && trust == nullptr) return *std::move(text);
  if (trust == nullptr && !IsSigned(bytes)) return DescribeContent(bytes, path, with_plan);
  HEFT_ASSIGN_OR_RETURN(SignedFile file, ReadSigned(bytes, path));
  if (trust != nullptr) {
    const auto audience = file.statement.audience;
    HEFT_ASSIGN_OR_RETURN(file, OpenSigned(bytes, *trust, {.audience = audience}, path));
  }
  HEFT_ASSIGN_OR_RETURN(Described told, DescribeContent(bytes, path, with_plan));
  const Described statement = DescribeSigned(file, trust != nullptr);
  told.json["signed"] = statement.json;
  told.text += statement.text;
  return told;
}

}  // namespace heft
