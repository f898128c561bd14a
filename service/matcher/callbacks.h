// SPDX-License-Identifier: Apache-2.0
// Callbacks: OSIA's asynchronous answers. Who asks with ?callback=URL is answered 202, and the URL
// is told when the task has ended. A service that calls whatever it is told to could be led into
// any network: it calls origins that its configuration lists, over TLS, and no other.
#ifndef HEFT_SERVICE_MATCHER_CALLBACKS_H_
#define HEFT_SERVICE_MATCHER_CALLBACKS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "service/http/client.h"
#include "service/http/tls.h"

namespace heft::service {

class Callbacks {
 public:
  // `allowed`: origins, "https://host:port".
  static absl::StatusOr<std::shared_ptr<Callbacks>> Create(const std::vector<std::string>& allowed,
                                                           std::shared_ptr<TlsContext> tls);
  // Check: kInvalidArgument for a URL that is not to be called.
  absl::Status Check(const std::string& url) const;
  // Call: POST of `task` to the URL, with ?transactionId= and &taskId= as OSIA has them; three
  // times at most, and what fails then is logged: the task can still be asked for.
  void Call(const std::string& url, const std::string& transaction,
            const nlohmann::ordered_json& task);

 private:
  std::map<std::string, std::unique_ptr<HttpClient>> clients_;  // by origin
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_CALLBACKS_H_
