// SPDX-License-Identifier: Apache-2.0
// What a request brings: encrypted samples, as files in a form (multipart/form-data) or as OSIA's
// biometricData in JSON, and what is said beside them. Both say the same things by the same names.
#ifndef HEFT_SERVICE_MATCHER_SAMPLES_H_
#define HEFT_SERVICE_MATCHER_SAMPLES_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/metadata.h"
#include "heft/server.h"
#include "service/http/message.h"
#include "service/json.h"

namespace heft::service {

// kTemplateFormat: of a template that is a HEFT file of encrypted samples (docs/formats.md).
inline constexpr std::string_view kTemplateFormat = "heft-sample-1";
// kMostFiles: of one request; a model has at most 8 modalities.
inline constexpr size_t kMostFiles = 8;

// SampleRequest: the samples, a registrar's authorisation if there is one, and the other members.
struct SampleRequest {
  std::vector<SampleFile> files;
  std::vector<uint8_t> authorisation;
  Json more = Json::object();
};

// ReadSampleRequest: of a form, parts "template" (any number), "authorisation" and "request" (JSON,
// the other members); of JSON, an object with "biometricData", each with "template" (base64) and
// "templateFormat", and "authorisation" (base64), of at most 8 MiB. kInvalidArgument for everything
// else, and for members that are not in `known`.
absl::StatusOr<SampleRequest> ReadSampleRequest(const HttpRequest& request,
                                                std::initializer_list<std::string_view> known);

// Members of `more`, and the fallback where there is none. kInvalidArgument for another type.
absl::StatusOr<std::string> TextOf(const Json& object, const char* name,
                                   std::string_view fallback = "");
absl::StatusOr<uint64_t> NumberOf(const Json& object, const char* name, uint64_t fallback);
absl::StatusOr<bool> FlagOf(const Json& object, const char* name, bool fallback);
absl::StatusOr<std::vector<std::string>> TextsOf(const Json& object, const char* name);

// MetadataOf: {"site": "berlin", "list": ["a", "b"]}. FilterOf: the same as conditions, and
// {"age": {"at_least": 18, "at_most": 30}}; OSIA's Filter. kInvalidArgument.
absl::StatusOr<Metadata> MetadataOf(const Json& object, const char* name);
absl::StatusOr<std::vector<Condition>> FilterOf(const Json& object, const char* name);
// PairsJson: ["site=berlin"], for lists.
Json PairsJson(const Metadata& metadata);

// CheckKnown: kInvalidArgument for a member that is none of these.
absl::Status CheckKnown(const Json& object, std::initializer_list<std::string_view> known);

// QueryNumber: of ?name=; kInvalidArgument for what is no number of at most `most`.
absl::StatusOr<uint64_t> QueryNumber(const HttpRequest& request, const std::string& name,
                                     uint64_t fallback, uint64_t most);

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_SAMPLES_H_
