// SPDX-License-Identifier: Apache-2.0
// StartedRequests: remembers started requests with an idempotency key, for repetitions after a
// crash. A signed enrolment is taken once, but after a failure the same request may be repeated. If
// a removal or the creation of a gallery is repeated, the person is missing or the gallery exists
// because of the first attempt. Any thread.
#ifndef HEFT_SERVICE_MATCHER_STARTED_REQUESTS_H_
#define HEFT_SERVICE_MATCHER_STARTED_REQUESTS_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/bytes.h"
#include "store/once.h"

namespace heft::service {

class StartedRequests {
 public:
  // kMax: more are not kept: a repetition of such a request gets an error, or must be signed anew.
  static constexpr uint64_t kMax = 4096;

  // `state`: a folder of this user, whose table it uses (store/once.h). `what`: the kind of
  // request, which outlives it.
  StartedRequests(const std::string& state, std::string_view what);
  // `what`: the hash of the caller, the idempotency key and the whole request.
  bool Has(const Hash& what) const;
  // Begin: on the disk when it returns.
  absl::Status Begin(const Hash& what) const;
  void End(const Hash& what) const;

 private:
  const OnceTable::Scope scope_;
  const std::shared_ptr<OnceTable> table_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_STARTED_REQUESTS_H_
