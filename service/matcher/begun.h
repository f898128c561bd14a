// SPDX-License-Identifier: Apache-2.0
// Begun: requests with an idempotency key whose work was begun, each a file, for who asks again
// after a crash. A signed enrolment is taken once, but who asks again for what failed asks for the
// same; a person who was removed, and a gallery that was made, are there no more, or already,
// because of this very request. Any thread.
#ifndef HEFT_SERVICE_MATCHER_BEGUN_H_
#define HEFT_SERVICE_MATCHER_BEGUN_H_

#include <string>

#include "absl/status/status.h"
#include "base/bytes.h"

namespace heft::service {

class Begun {
 public:
  // kMost: more are not kept: who asks again for those is told how it stands, or signs anew.
  static constexpr size_t kMost = 4096;

  // `state`: a folder of this user's; its folder "begun", or "begun-WHAT" for one kind of request,
  // is made when it is needed. What lies there and is not this class's is left alone.
  explicit Begun(const std::string& state, const std::string& what = "")
      : folder_(state + "/begun" + (what.empty() ? "" : "-") + what) {}
  // `what`: of who asks, his key, and all that he asks.
  bool Has(const Hash& what) const;
  // Begin: on the disk when it returns; what is older than a request can be good is forgotten.
  absl::Status Begin(const Hash& what) const;
  void End(const Hash& what) const;

 private:
  std::string Path(const Hash& what) const;

  const std::string folder_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_BEGUN_H_
