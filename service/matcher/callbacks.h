// SPDX-License-Identifier: Apache-2.0
// Callbacks: OSIA's asynchronous answers. Who asks with ?callback=URL is answered 202, and the URL
// is told when the task has ended. A service that calls whatever it is told to could be led into
// any network: it calls origins that its configuration lists, over TLS, and no other.
#ifndef HEFT_SERVICE_MATCHER_CALLBACKS_H_
#define HEFT_SERVICE_MATCHER_CALLBACKS_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/http/client.h"
#include "service/http/tls.h"
#include "service/json.h"

namespace heft::service {

class Callbacks {
 public:
  // `allowed`: origins, "https://host:port".
  static absl::StatusOr<std::shared_ptr<Callbacks>> Create(const std::vector<std::string>& allowed,
                                                           std::shared_ptr<TlsContext> tls);
  Callbacks();
  // Ends the call that is under way; those that wait are dropped, as their tasks can be asked for.
  ~Callbacks();
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  // Check: kInvalidArgument for a URL that is not to be called.
  absl::Status Check(const std::string& url) const;
  // Call: has a thread of its own POST `task` to the URL, with ?transactionId= and &taskId= as OSIA
  // has them, three times at most, and returns at once. What fails then, or comes while
  // kMostWaiting others wait, is logged: the task can still be asked for.
  static constexpr size_t kMostWaiting = 1024;
  void Call(const std::string& url, const std::string& transaction, const Json& task);

 private:
  struct Waiting {
    std::string url, transaction;
    Json task;
  };
  void Run();
  void Send(const Waiting& waiting);
  // Sleeps between two attempts; false where it is to end.
  bool Pause(std::chrono::seconds time);

  std::map<std::string, std::unique_ptr<HttpClient>> clients_;  // by origin
  std::mutex mutex_;                                            // of all below
  std::condition_variable came_;
  std::deque<Waiting> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_CALLBACKS_H_
