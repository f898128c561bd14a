// SPDX-License-Identifier: Apache-2.0
// BegunEnrolments: signed enrolments with an idempotency key that were taken and have not come to
// their end, each a file: a signed request is taken once, but who asks again for what failed, or
// was cut off by a crash, asks for the same. Any thread.
#ifndef HEFT_SERVICE_MATCHER_BEGUN_H_
#define HEFT_SERVICE_MATCHER_BEGUN_H_

#include <string>

#include "absl/status/status.h"
#include "base/bytes.h"

namespace heft::service {

class BegunEnrolments {
 public:
  // kMost: more are not kept: who asks again for those signs anew.
  static constexpr size_t kMost = 4096;

  // `state`: a folder of this user's; its folder "begun" is made when it is needed.
  explicit BegunEnrolments(const std::string& state) : folder_(state + "/begun") {}
  // `what`: of who asks, his key, the person and the files.
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
