// SPDX-License-Identifier: Apache-2.0
#include "c/gallery_options.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "c/handles.h"

namespace heft::c {
namespace {

absl::Status NoCondition(const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat(text, " is not a condition: give key, values, at_least and at_most"));
}

// BoundOf: a number, or none if the member is missing or null.
absl::StatusOr<std::optional<double>> BoundOf(const Json& json, const char* name) {
  const Json* bound = json.find(name);
  if (bound == nullptr || bound->is_null()) return std::optional<double>();
  double number = 0;  // JSON has no infinity, of which CheckConditions speaks
  if (bound->is_number()) {
    number = bound->get<double>();
  } else if (!bound->is_string() || !absl::SimpleAtod(bound->get<std::string>(), &number)) {
    return NoCondition(json.dump());
  }
  return std::optional<double>(number);
}

absl::StatusOr<Condition> ConditionOf(const std::string& text) {
  if (!text.starts_with("{\"")) return ParseCondition(text);
  const absl::StatusOr<Json> json = Json::Parse(text);
  if (!json.ok()) return NoCondition(text);
  Condition condition;
  const Json* key = json->find("key");
  if (key == nullptr || !key->is_string()) return NoCondition(text);
  condition.key = key->get<std::string>();
  if (const Json* values = json->find("values"); values != nullptr) {
    for (const Json& value : *values) {
      if (!value.is_string()) return NoCondition(text);
      condition.values.push_back(value.get<std::string>());
    }
  }
  HEFT_ASSIGN_OR_RETURN(condition.at_least, BoundOf(*json, "at_least"));
  HEFT_ASSIGN_OR_RETURN(condition.at_most, BoundOf(*json, "at_most"));
  return condition;
}

}  // namespace

absl::StatusOr<std::vector<Condition>> ConditionsOf(const std::vector<std::string>& texts) {
  std::vector<Condition> conditions;
  for (const std::string& text : texts) {
    HEFT_ASSIGN_OR_RETURN(conditions.emplace_back(), ConditionOf(text));
  }
  HEFT_RETURN_IF_ERROR(CheckConditions(conditions));
  return conditions;
}

absl::StatusOr<Retained> ReadRetained(const heft_options* options) {
  Retained retained;
  OptionReader read(options);
  read.Integer("retention_seconds", &retained.seconds);
  read.Integer("retention_bytes", &retained.bytes);
  HEFT_RETURN_IF_ERROR(read.Finish());
  return retained;
}

absl::StatusOr<EnrolOptions> ReadEnrolOptions(const heft_options* options) {
  EnrolOptions enrol;
  std::vector<std::string> metadata;
  std::string client;
  OptionReader read(options);
  read.Text("identity", &enrol.identity).Flag("all_pairs", &enrol.all_pairs);
  read.Flag("average", &enrol.average).Bytes("authorisation", &enrol.authorisation);
  read.Texts("metadata", &metadata).Integer("expires", &enrol.expires);
  read.Text("idempotency_key", &enrol.idempotency_key).Text("client", &client);
  HEFT_RETURN_IF_ERROR(read.Finish());
  if (!client.empty()) {
    HEFT_ASSIGN_OR_RETURN(enrol.client, ParseSignerKey(client));
  }
  HEFT_ASSIGN_OR_RETURN(enrol.metadata, ParseMetadata(metadata));
  return enrol;
}

Desk At(const heft_gallery* gallery, Desk desk) {
  desk.open = [gallery](const std::string&) { return gallery->gallery.Newest(); };
  desk.signer =
      [shared = gallery->signer](
          const std::string& address) -> absl::StatusOr<std::shared_ptr<const SigningKey>> {
    {
      const std::lock_guard lock(shared->mutex);
      if (shared->key != nullptr) return shared->key;
    }
    // Without the mutex: this may wait for another process.
    HEFT_ASSIGN_OR_RETURN(SigningKey read, GallerySigner(address));
    auto key = std::make_shared<const SigningKey>(std::move(read));
    const std::lock_guard lock(shared->mutex);
    shared->key = key;
    return key;
  };
  return desk;
}

}  // namespace heft::c
