// SPDX-License-Identifier: Apache-2.0
#include "service/decider/config.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace heft::service {
namespace {

constexpr char kDescriptorPrefix[] = "fd:";
constexpr double kLeastRate = 1e-9, kMaxRate = 0.5;

void ReadPassphrase(const ConfigTable& table, KeyConfig* key) {
  const std::string from = table.Text("passphrase", "credential");
  key->sealed_passphrase = table.Path("sealed_passphrase");
  key->seal = table.Path("seal");
  if (from == "credential") {
    key->passphrase = PassphraseFrom::kCredential;
  } else if (from == "none") {
    key->passphrase = PassphraseFrom::kNone;
  } else if (from == "sealed") {
    key->passphrase = PassphraseFrom::kSealed;
    if (key->sealed_passphrase.empty() || key->seal.empty()) {
      table.Wrong("passphrase", "\"sealed\" needs sealed_passphrase and seal");
    }
  } else if (from.starts_with(kDescriptorPrefix)) {
    key->passphrase = PassphraseFrom::kDescriptor;
    const char* const end = from.data() + from.size();
    const auto [rest, error] =
        std::from_chars(from.data() + sizeof(kDescriptorPrefix) - 1, end, key->descriptor);
    if (error != std::errc() || rest != end || key->descriptor < 3) {
      table.Wrong("passphrase", "give a descriptor from 3 on: \"fd:3\"");
    }
  } else {
    table.Wrong("passphrase", "\"credential\", \"sealed\", \"fd:N\" or \"none\"");
  }
}

void ReadGallery(const ConfigTable& table, DeciderConfig* config) {
  GalleryRule rule;
  rule.shard_list = table.Path("shards");
  const bool sharded = !rule.shard_list.empty();
  const std::string text = sharded ? table.Text("id", "") : table.RequiredText("id");
  rule.name = table.RequiredText("name");
  if (table.Has("fpir")) rule.fpir = table.Real("fpir", 0.01, kLeastRate, kMaxRate);
  if (table.Has("fmr")) rule.fmr = table.Real("fmr", 0.01, kLeastRate, kMaxRate);
  rule.automatic = table.Choice("admission", "automatic", {"automatic", "manual"}) == "automatic";
  rule.new_identities_only = table.Flag("new_identities_only", false);
  if (sharded) {
    if (!text.empty()) table.Wrong("id", "the ids are in the shard list: give only one of them");
    config->sharded.push_back(std::move(rule));
    return;
  }
  const auto id = ParseGalleryId(text);
  if (!id.ok()) {
    if (!text.empty())
      table.Wrong("id", "must be 32 hexadecimal digits (see `heft-server gallery stats`)");
  } else if (!config->galleries.emplace(*id, std::move(rule)).second) {
    table.Wrong("id", "this gallery is already configured above");
  }
}

void ReadFellow(const ConfigTable& table, DeciderConfig* config) {
  FellowConfig fellow;
  fellow.owner = static_cast<uint32_t>(table.Number("owner", 0, 1, 5));
  if (!table.Has("owner")) table.Wrong("owner", "is needed: the owner's number, from 1");
  fellow.name = table.RequiredText("name");
  fellow.url = table.RequiredText("url");
  fellow.tls = ReadPeerTls(table, config->common.tls);
  fellow.wait = std::chrono::milliseconds(table.Number("wait_milliseconds", 2000, 50, 60000));
  for (const FellowConfig& other : config->fellows) {
    if (other.owner == fellow.owner) table.Wrong("owner", "is that of another [[fellow]]");
    if (other.name == fellow.name) table.Wrong("name", "is that of another [[fellow]]");
  }
  config->fellows.push_back(std::move(fellow));
}

}  // namespace

size_t DeciderConfig::RuledGalleries() const {
  return sharded.size() + std::ranges::count_if(galleries, [](const auto& gallery) {
           return !gallery.second.shards;
         });
}

absl::StatusOr<DeciderConfig> ReadDeciderConfig(const Config& config) {
  DeciderConfig out;
  out.common = ReadCommonConfig(config);
  const ConfigTable key = config.root().Table("key");
  out.key.model = key.RequiredPath("model");
  out.key.secret_key = key.RequiredPath("secret_key");
  out.key.trust = key.RequiredPath("trust");
  ReadPassphrase(key, &out.key);
  out.key.lock_memory = key.Flag("lock_memory", true);
  out.key.signed_gallery = key.Flag("signed_gallery", false);

  const ConfigTable decisions = config.root().Table("decisions");
  out.decision_key = decisions.RequiredPath("key");
  out.retired_keys = decisions.Paths("retired_keys");
  out.issuer = decisions.Text("issuer", "heft-decider");
  out.life = decisions.Seconds("life", 300, 10, 86400);
  out.likelihood = decisions.Flag("likelihood", true);
  out.state_folder = config.root().Table("state").RequiredPath("folder");
  for (const ConfigTable& table : config.root().Tables("fellow")) ReadFellow(table, &out);
  for (const ConfigTable& table : config.root().Tables("gallery")) {
    ReadGallery(table, &out);
  }
  const auto by_hand = [](const GalleryRule& rule) { return !rule.automatic; };
  const bool manual =
      std::ranges::any_of(out.galleries,
                          [&](const auto& gallery) { return by_hand(gallery.second); }) ||
      std::ranges::any_of(out.sharded, by_hand);
  if (out.key.signed_gallery && manual) {
    key.Wrong("signed_gallery",
              "cannot be combined with manual admission: no state is signed while enrolments are "
              "pending, so every reply would be refused");
  }
  HEFT_RETURN_IF_ERROR(config.Check());
  return out;
}

absl::StatusOr<DeciderConfig> ReadDeciderConfig(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const Config config, Config::Read(path));
  return ReadDeciderConfig(config);
}

}  // namespace heft::service
