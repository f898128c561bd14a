// SPDX-License-Identifier: Apache-2.0
// MosipAdapter: MOSIP's ABIS interface (version 1.1: insert, identify, delete, ping, pendingJobs,
// referenceCount) on a heft-matcher: a JSON message in, a JSON message out. The user's client of
// MOSIP's queues carries them.
//
// A referenceURL gives encrypted samples, not CBEFF. They are made where the biometrics are, as a
// JSON document {"biometricData": [{"template": base64, "templateFormat": "heft-sample-1"}]}.
#ifndef HEFT_EXAMPLES_MOSIP_ADAPTER_H_
#define HEFT_EXAMPLES_MOSIP_ADAPTER_H_

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "service/http/client.h"
#include "service/json.h"

namespace heft::examples {

class MosipAdapter {
 public:
  // Fetch: the document at a referenceURL. kPermissionDenied if the share has expired, kNotFound if
  // there is no document, kUnavailable if it cannot be reached.
  using Fetch = std::function<absl::StatusOr<std::string>(const std::string& url)>;
  // `matcher` has the certificate of a registrar that may also identify; it outlives this object.
  MosipAdapter(service::HttpClient* matcher, std::string gallery, Fetch fetch)
      : matcher_(matcher), gallery_(std::move(gallery)), fetch_(std::move(fetch)) {}

  // Answer: never throws; an error is a returnValue of "2" with one of MOSIP's reasons.
  service::Json Answer(const std::string& message);

 private:
  // Reason: MOSIP's failureReason, 1 to 18; 0: success.
  using Reason = int;
  Reason Check(const service::Json& message) const;
  Reason Insert(const service::Json& message);
  Reason Identify(const service::Json& message, service::Json* answer);
  Reason Delete(const service::Json& message);
  Reason Ping();
  Reason Count(const std::string& target, const char* member, const char* as,
               service::Json* answer);
  absl::StatusOr<service::HttpResponse> Ask(const std::string& method, const std::string& target,
                                            const service::Json* body = nullptr,
                                            const std::string& key = "");
  Reason FetchSamples(const std::string& url, service::Json* samples) const;

  service::HttpClient* const matcher_;
  const std::string gallery_;
  const Fetch fetch_;
  std::mutex mutex_;
  std::map<std::string, std::string> urls_;  // of references that were inserted, for identify
};

}  // namespace heft::examples

#endif  // HEFT_EXAMPLES_MOSIP_ADAPTER_H_
