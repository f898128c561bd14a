// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/samples.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status.h"
#include "service/access/jwt.h"
#include "service/json.h"

namespace heft::service {
namespace {

// The other members of a request are short. OSIA's JSON holds templates as text: eight of profile
// compact take 2 MB of it; larger ones must come as a form.
constexpr JsonLimits kRequestLimits = {.bytes = 64 << 10, .values = 1 << 12};
constexpr JsonLimits kOsiaLimits = {.bytes = 8 << 20, .values = 1 << 12};

absl::Status Wrong(std::string_view name, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", std::string(name), "\": ", std::string(what)));
}

absl::Status TakeFile(std::vector<uint8_t> bytes, std::string name, SampleRequest* out) {
  if (out->files.size() == kMaxFiles) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxFiles, " templates: give one per modality"));
  }
  out->files.push_back({std::move(bytes), std::move(name)});
  return absl::OkStatus();
}

absl::Status TakePart(const Part& part, SampleRequest* out) {
  std::vector<uint8_t> bytes(part.bytes.begin(), part.bytes.end());
  if (part.name == "template") {
    return TakeFile(std::move(bytes), absl::StrCat("template ", out->files.size() + 1), out);
  }
  if (part.name == "authorisation") {
    out->authorisation = std::move(bytes);
    return absl::OkStatus();
  }
  if (part.name != "request") {
    return Wrong(part.name, "unknown part: use template, authorisation and request");
  }
  HEFT_ASSIGN_OR_RETURN(out->more, ParseJson(part.bytes, kRequestLimits));
  if (!out->more.is_object()) return Wrong("request", "this must be a JSON object");
  return absl::OkStatus();
}

absl::StatusOr<SampleRequest> ReadForm(const HttpRequest& request) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<Part> parts, ReadParts(request));
  SampleRequest out;
  for (const Part& part : parts) HEFT_RETURN_IF_ERROR(TakePart(part, &out));
  return out;
}

absl::Status TakeBiometric(const Json& one, SampleRequest* out) {
  if (!one.is_object()) return Wrong("biometricData", "each of them is an object");
  HEFT_RETURN_IF_ERROR(CheckKnown(one, {"biometricType", "biometricSubType", "template",
                                        "templateFormat", "instance", "comment"}));
  HEFT_ASSIGN_OR_RETURN(const std::string format, TextOf(one, "templateFormat"));
  if (format != kTemplateFormat) {
    return Wrong("templateFormat",
                 absl::StrCat("this service takes \"", std::string(kTemplateFormat), "\" alone"));
  }
  HEFT_ASSIGN_OR_RETURN(const std::string text, TextOf(one, "template"));
  auto bytes = DecodeBase64(text);
  if (!bytes.ok()) return Wrong("template", std::string(bytes.status().message()));
  return TakeFile(*std::move(bytes), absl::StrCat("template ", out->files.size() + 1), out);
}

absl::StatusOr<SampleRequest> ReadOsia(const HttpRequest& request) {
  SampleRequest out;
  HEFT_ASSIGN_OR_RETURN(out.more, ReadJson(request, kOsiaLimits));
  if (!out.more.is_object()) return absl::InvalidArgumentError("the body must be a JSON object");
  const auto data = out.more.find("biometricData");
  if (data == out.more.end() || !data->is_array()) {
    return Wrong("biometricData", "this must be an array of templates");
  }
  for (const Json& one : *data) HEFT_RETURN_IF_ERROR(TakeBiometric(one, &out));
  out.more.erase(data);
  if (out.more.contains("authorisation")) {
    HEFT_ASSIGN_OR_RETURN(const std::string text, TextOf(out.more, "authorisation"));
    auto bytes = DecodeBase64(text);
    if (!bytes.ok()) return Wrong("authorisation", std::string(bytes.status().message()));
    out.authorisation = *std::move(bytes);
    out.more.erase("authorisation");
  }
  return out;
}

}  // namespace

SignerKey ClientOf(const std::string& principal) {
  const std::string text = absl::StrCat("HEFT principal\n", principal);
  return HashBytes(AsBytes(text));
}

absl::StatusOr<SampleRequest> ReadSampleRequest(const HttpRequest& request,
                                                std::initializer_list<std::string_view> known) {
  const bool form =
      absl::StartsWithIgnoreCase(request.Header("content-type"), "multipart/form-data");
  HEFT_ASSIGN_OR_RETURN(SampleRequest out, form ? ReadForm(request) : ReadOsia(request));
  if (out.files.empty()) {
    return absl::InvalidArgumentError(
        "no templates: give the encrypted samples, one per modality (heft encrypt)");
  }
  HEFT_RETURN_IF_ERROR(CheckKnown(out.more, known));
  return out;
}

absl::Status CheckKnown(const Json& object, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : object.items()) {
    if (std::ranges::find(known, name) == known.end()) {
      return Wrong(name.size() > 64 ? name.substr(0, 64) : name, "there is no such member here");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TextOf(const Json& object, const char* name,
                                   std::string_view fallback) {
  const auto found = object.find(name);
  if (found == object.end()) return std::string(fallback);
  if (!found->is_string()) return Wrong(name, "this must be a text");
  return found->get<std::string>();
}

absl::StatusOr<uint64_t> NumberOf(const Json& object, const char* name, uint64_t fallback) {
  const auto found = object.find(name);
  if (found == object.end()) return fallback;
  if (!found->is_number_unsigned()) return Wrong(name, "this must be a whole number from 0");
  return found->get<uint64_t>();
}

absl::StatusOr<bool> FlagOf(const Json& object, const char* name, bool fallback) {
  const auto found = object.find(name);
  if (found == object.end()) return fallback;
  if (!found->is_boolean()) return Wrong(name, "this must be true or false");
  return found->get<bool>();
}

absl::StatusOr<std::vector<std::string>> TextsOf(const Json& object, const char* name) {
  std::vector<std::string> out;
  const auto found = object.find(name);
  if (found == object.end()) return out;
  if (!found->is_array()) return Wrong(name, "this must be an array of texts");
  for (const Json& one : *found) {
    if (!one.is_string()) return Wrong(name, "this must be an array of texts");
    out.push_back(one.get<std::string>());
  }
  return out;
}

absl::StatusOr<Metadata> MetadataOf(const Json& object, const char* name) {
  Metadata out;
  const auto found = object.find(name);
  if (found == object.end()) return out;
  if (!found->is_object()) return Wrong(name, "this must be an object of texts");
  for (const auto& [key, value] : found->items()) {
    if (value.is_string()) {
      out.push_back({key, value.get<std::string>()});
      continue;
    }
    if (!value.is_array()) return Wrong(name, "values must be texts, or arrays of texts");
    for (const Json& one : value) {
      if (!one.is_string()) return Wrong(name, "values must be texts, or arrays of texts");
      out.push_back({key, one.get<std::string>()});
    }
  }
  HEFT_RETURN_IF_ERROR(CheckMetadata(out));
  return out;
}

namespace {

absl::StatusOr<Condition> ConditionOf(const std::string& key, const Json& value) {
  Condition out;
  out.key = key;
  if (value.is_string()) {
    out.values = {value.get<std::string>()};
    return out;
  }
  if (value.is_array()) {
    for (const Json& one : value) {
      if (!one.is_string()) return Wrong(key, "values must be texts");
      out.values.push_back(one.get<std::string>());
    }
    return out;
  }
  if (!value.is_object()) return Wrong(key, "give a text, texts, or {\"at_least\", \"at_most\"}");
  HEFT_RETURN_IF_ERROR(CheckKnown(value, {"at_least", "at_most"}));
  for (const auto& [name, bound] : value.items()) {
    if (!bound.is_number()) return Wrong(name, "this must be a number");
    (name == "at_least" ? out.at_least : out.at_most) = bound.get<double>();
  }
  return out;
}

}  // namespace

absl::StatusOr<std::vector<Condition>> FilterOf(const Json& object, const char* name) {
  std::vector<Condition> out;
  const auto found = object.find(name);
  if (found == object.end()) return out;
  if (!found->is_object()) return Wrong(name, "this must be an object");
  for (const auto& [key, value] : found->items()) {
    HEFT_ASSIGN_OR_RETURN(Condition condition, ConditionOf(key, value));
    out.push_back(std::move(condition));
  }
  HEFT_RETURN_IF_ERROR(CheckConditions(out));
  return out;
}

Json PairsJson(const Metadata& metadata) {
  auto out = Json::array();
  for (const MetadataPair& pair : metadata) out.push_back(absl::StrCat(pair.key, "=", pair.value));
  return out;
}

absl::StatusOr<uint64_t> QueryNumber(const HttpRequest& request, const std::string& name,
                                     uint64_t fallback, uint64_t most) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return fallback;
  uint64_t value = 0;
  if (!absl::SimpleAtoi(found->second, &value) || value > most) {
    return Wrong(name, absl::StrCat("this must be a whole number of at most ", most));
  }
  return value;
}

}  // namespace heft::service
