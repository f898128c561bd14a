// SPDX-License-Identifier: Apache-2.0
// StartedRequests: remembers started requests with an idempotency key, one file each, for
// repetitions after a crash. A signed enrolment is taken once, but after a failure the same request
// may be repeated. If a removal or the creation of a gallery is repeated, the person is missing or
// the gallery exists because of the first attempt. Any thread.
#ifndef HEFT_SERVICE_MATCHER_STARTED_REQUESTS_H_
#define HEFT_SERVICE_MATCHER_STARTED_REQUESTS_H_

#include <string>

#include "absl/status/status.h"
#include "base/bytes.h"

namespace heft::service {

class StartedRequests {
 public:
  // kMax: more are not kept: a repetition of such a request gets an error, or must be signed anew.
  static constexpr size_t kMax = 4096;

  // `state`: a folder of this user. Its folder "started", or "started-WHAT" for one kind of
  // request, is made when needed. Other files in it are left alone.
  explicit StartedRequests(const std::string& state, const std::string& what = "")
      : folder_(state + "/started" + (what.empty() ? "" : "-") + what) {}
  // `what`: the hash of the caller, the idempotency key and the whole request.
  bool Has(const Hash& what) const;
  // Begin: on the disk when it returns; removes entries of expired requests.
  absl::Status Begin(const Hash& what) const;
  void End(const Hash& what) const;

 private:
  std::string Path(const Hash& what) const;

  const std::string folder_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_STARTED_REQUESTS_H_
