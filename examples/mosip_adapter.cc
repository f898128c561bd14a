// SPDX-License-Identifier: Apache-2.0
#include "examples/mosip_adapter.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace heft::examples {
namespace {

using service::ClientRequest;
using service::HttpResponse;

// MOSIP's failure reasons.
enum : int {
  kSuccess = 0,
  kInternalError = 1,
  kAborted = 2,
  kUnexpected = 3,
  kInvalidStructure = 4,
  kNoReferenceId = 5,
  kNoRequestId = 6,
  kCannotFetch = 7,
  kNoReferenceUrl = 8,
  kNoRequestTime = 9,
  kReferenceExists = 10,
  kNoData = 11,
  kReferenceNotFound = 12,
  kInvalidVersion = 13,
  kInvalidId = 14,
  kInvalidTime = 15,
  kInvalidFormat = 16,
  kShareExpired = 17,
  kQualityFailed = 18,
};

constexpr char kReferenceKey[] = "reference";  // metadata: the person of a template
constexpr size_t kReferencesAtOnce = 64;       // values of a condition
constexpr int kAdmissionWait = 20;             // seconds

std::string TextOf(const service::Json& message, const char* name) {
  const auto found = message.find(name);
  return found != message.end() && found->is_string() ? found->get<std::string>() : "";
}

// "2020-03-29T07:01:24.692Z".
bool IsTime(const std::string& text) {
  std::tm time = {};
  const char* end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (end == nullptr) return false;
  if (*end == '.') {
    do ++end;
    while (*end >= '0' && *end <= '9');
  }
  return std::string(end) == "Z";
}

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm time = {};
  gmtime_r(&now, &time);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S.000Z", &time);
  return text;
}

// One segment of a path.
std::string Escaped(const std::string& text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.';
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

service::Json BodyOf(const HttpResponse& response) {
  return service::Json::parse(response.body.begin(), response.body.end(), nullptr, false);
}

// ReasonOf: MOSIP's reason for an error that does not concern a reference.
int ReasonOf(const absl::StatusOr<HttpResponse>& response) {
  if (!response.ok()) return kUnexpected;
  switch (response->status) {
    case 400:
    case 413:
      return kInvalidFormat;
    case 404:
      return kReferenceNotFound;
    case 429:
    case 503:
    case 504:
      return kAborted;  // ask again
    default:
      return response->status < 300 ? kSuccess : kInternalError;
  }
}

}  // namespace

absl::StatusOr<HttpResponse> MosipAdapter::Ask(const std::string& method, const std::string& target,
                                               const service::Json* body, const std::string& key) {
  ClientRequest request;
  request.method = method;
  request.target = target;
  request.headers.emplace_back("Accept", "application/json");
  if (!key.empty()) request.headers.emplace_back("Idempotency-Key", key);
  if (body != nullptr) {
    const std::string text = body->dump();
    request.content_type = "application/json";
    request.body.assign(text.begin(), text.end());
  }
  return matcher_->Send(request);
}

MosipAdapter::Reason MosipAdapter::FetchSamples(const std::string& url,
                                                service::Json* samples) const {
  const auto document = fetch_(url);
  if (absl::IsPermissionDenied(document.status())) return kShareExpired;
  if (absl::IsNotFound(document.status())) return kCannotFetch;
  if (!document.ok()) return kUnexpected;
  if (document->empty()) return kNoData;
  const service::Json parsed = service::Json::parse(*document, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("biometricData")) return kInvalidFormat;
  *samples = parsed["biometricData"];
  if (!samples->is_array()) return kInvalidFormat;
  return samples->empty() ? kNoData : kSuccess;
}

MosipAdapter::Reason MosipAdapter::Check(const service::Json& message) const {
  if (!message.is_object()) return kInvalidStructure;
  if (!absl::StartsWith(TextOf(message, "id"), "mosip.abis.")) return kInvalidId;
  if (TextOf(message, "version") != "1.1") return kInvalidVersion;
  if (TextOf(message, "requestId").empty()) return kNoRequestId;
  if (TextOf(message, "requesttime").empty()) return kNoRequestTime;
  return IsTime(TextOf(message, "requesttime")) ? kSuccess : kInvalidTime;
}

MosipAdapter::Reason MosipAdapter::Insert(const service::Json& message) {
  const std::string reference = TextOf(message, "referenceId"),
                    url = TextOf(message, "referenceURL");
  if (reference.empty()) return kNoReferenceId;
  if (url.empty()) return kNoReferenceUrl;
  service::Json body = {{"galleries", {gallery_}}, {"metadata", {{kReferenceKey, reference}}}};
  if (const Reason reason = FetchSamples(url, &body["biometricData"]); reason != kSuccess)
    return reason;
  const std::string person = absl::StrCat("/v1/persons/", Escaped(reference));
  const auto answer = Ask("POST", absl::StrCat(person, "/encounters?wait=", kAdmissionWait), &body,
                          TextOf(message, "requestId"));
  if (answer.ok() && answer->status == 409) {
    // The same request again was answered well: this is another one.
    const auto there = Ask("GET", absl::StrCat(person, "?gallery=", gallery_));
    return there.ok() && there->status == 200 ? kReferenceExists : kInvalidFormat;
  }
  if (const Reason reason = ReasonOf(answer); reason != kSuccess) return reason;
  // Norms that no sound template has.
  if (BodyOf(*answer)["others"]["status"] == "rejected") return kQualityFailed;
  const std::lock_guard lock(mutex_);
  urls_[reference] = url;
  return kSuccess;
}

MosipAdapter::Reason MosipAdapter::Identify(const service::Json& message, service::Json* answer) {
  const std::string reference = TextOf(message, "referenceId");
  if (reference.empty()) return kNoReferenceId;
  std::string url = TextOf(message, "referenceURL");
  if (url.empty()) {
    const std::lock_guard lock(mutex_);
    const auto known = urls_.find(reference);
    if (known == urls_.end()) return kNoReferenceUrl;
    url = known->second;
  }
  service::Json body = service::Json::object();
  if (const Reason reason = FetchSamples(url, &body["biometricData"]); reason != kSuccess)
    return reason;
  // A template matches itself best: of those named, all but the reference are asked about.
  std::vector<std::string> named;
  const service::Json none = service::Json::array();
  const service::Json& listed =
      message.contains("gallery") && message["gallery"].contains("referenceIds")
          ? message["gallery"]["referenceIds"]
          : none;
  for (const service::Json& one : listed) {
    if (!one.is_object()) return kInvalidStructure;
    if (const std::string id = TextOf(one, "referenceId"); id != reference) named.push_back(id);
  }
  service::Json candidates = service::Json::array();
  const bool all = listed.empty();
  for (size_t from = 0; all || from < named.size(); from += kReferencesAtOnce) {
    if (!all) {
      const size_t end = std::min(named.size(), from + kReferencesAtOnce);
      body["filter"] = {
          {kReferenceKey, std::vector<std::string>(named.begin() + from, named.begin() + end)}};
    }
    const auto decided = Ask("POST", "/v1/identify/" + gallery_, &body);
    if (const Reason reason = ReasonOf(decided); reason != kSuccess) return reason;
    const service::Json decision = BodyOf(*decided);
    if (decision.value("accepted", false)) {
      const std::string found = decision.value("identity", "");
      // A decision names one candidate. If it is the person itself, others stay unknown: the
      // message must list the references to search.
      if (found == reference) return kInvalidStructure;
      candidates.push_back({{"referenceId", found}, {"analytics", service::Json::object()}});
    }
    if (all) break;
  }
  (*answer)["candidateList"] = {{"count", absl::StrCat(candidates.size())},
                                {"candidates", std::move(candidates)}};
  return kSuccess;
}

MosipAdapter::Reason MosipAdapter::Delete(const service::Json& message) {
  const std::string reference = TextOf(message, "referenceId");
  if (reference.empty()) return kNoReferenceId;
  const auto answer =
      Ask("DELETE", absl::StrCat("/v1/persons/", Escaped(reference), "?gallery=", gallery_));
  const Reason reason = ReasonOf(answer);
  if (reason == kSuccess) {
    const std::lock_guard lock(mutex_);
    urls_.erase(reference);
  }
  return reason;
}

MosipAdapter::Reason MosipAdapter::Ping() { return ReasonOf(Ask("GET", "/v1/parameters")); }

MosipAdapter::Reason MosipAdapter::Count(const std::string& target, const char* member,
                                         const char* as, service::Json* answer) {
  const auto response = Ask("GET", target);
  if (const Reason reason = ReasonOf(response); reason != kSuccess) return reason;
  (*answer)[as] = absl::StrCat(BodyOf(*response).value(member, uint64_t{0}));
  return kSuccess;
}

service::Json MosipAdapter::Answer(const std::string& text) {
  const service::Json message = service::Json::parse(text, nullptr, false);
  const bool object = message.is_object();
  const std::string id = object ? TextOf(message, "id") : "";
  service::Json answer = {{"id", id},
                          {"requestId", object ? TextOf(message, "requestId") : ""},
                          {"responsetime", Now()},
                          {"returnValue", "1"}};
  Reason reason = Check(message);
  if (reason == kSuccess) {
    if (id == "mosip.abis.insert") {
      reason = Insert(message);
    } else if (id == "mosip.abis.identify") {
      reason = Identify(message, &answer);
    } else if (id == "mosip.abis.delete") {
      reason = Delete(message);
    } else if (id == "mosip.abis.ping") {
      reason = Ping();
    } else if (id == "mosip.abis.pendingJobs") {
      reason = Count("/v1/admissions", "total", "jobscount", &answer);
    } else if (id == "mosip.abis.referenceCount") {
      reason = Count("/v1/galleries/" + gallery_, "templates", "count", &answer);
    } else {
      reason = kInvalidId;
    }
  }
  if (reason != kSuccess) {
    answer["returnValue"] = "2";
    answer["failureReason"] = absl::StrCat(reason);
  }
  return answer;
}

}  // namespace heft::examples
