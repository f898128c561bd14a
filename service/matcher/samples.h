// SPDX-License-Identifier: Apache-2.0
// Requests with samples: encrypted samples as files in a form (multipart/form-data), or as OSIA's
// biometricData in JSON, and other members. Both forms have the same members.
#ifndef HEFT_SERVICE_MATCHER_SAMPLES_H_
#define HEFT_SERVICE_MATCHER_SAMPLES_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/gallery.h"
#include "heft/server.h"
#include "service/http/message.h"
#include "service/json.h"

namespace heft::service {

// kTemplateFormat: the format of a HEFT file with encrypted samples (docs/formats.md).
inline constexpr std::string_view kTemplateFormat = "heft-sample-1";
// kMaxFiles: of one request; a model has at most 8 modalities.
inline constexpr size_t kMaxFiles = 8;

// SampleRequest: the samples, a registrar's authorisation if there is one, and the other members.
struct SampleRequest {
  std::vector<SampleFile> files;
  std::vector<uint8_t> authorisation;
  Json more = Json::object();
};

// ReadSampleRequest: a form has parts "template" (any number), "authorisation" and "request" (JSON
// with the other members). JSON has an object of at most 8 MiB with "biometricData", each with
// "template" (base64) and "templateFormat", and "authorisation" (base64). kInvalidArgument for
// everything else, and for members that are not in `known`.
absl::StatusOr<SampleRequest> ReadSampleRequest(const HttpRequest& request,
                                                std::initializer_list<std::string_view> known);

// ClientOf: the client that unsigned samples are charged to. Each principal has its own budget and
// its own limits (SECURITY.md): the matcher knows the caller and names it to the key owner.
SignerKey ClientOf(const std::string& principal);

// A member of `more`, or the fallback if it is missing. kInvalidArgument for another type.
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

// CheckKnown: kInvalidArgument for a member outside this list.
absl::Status CheckKnown(const Json& object, std::initializer_list<std::string_view> known);

// QueryNumber: the number in ?name=; kInvalidArgument if it is not a number up to `most`.
absl::StatusOr<uint64_t> QueryNumber(const HttpRequest& request, const std::string& name,
                                     uint64_t fallback, uint64_t most);

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_SAMPLES_H_
