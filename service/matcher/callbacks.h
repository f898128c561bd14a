// SPDX-License-Identifier: Apache-2.0
// Callbacks: OSIA's asynchronous answers. A request with ?callback=URL gets 202, and the URL is
// called when its task has ended. To prevent calls into other networks, only the origins that the
// configuration lists are called, over TLS.
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
  // Waits for the current call and drops queued ones, as clients can poll their tasks.
  ~Callbacks();
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  // Check: kInvalidArgument for a URL that is not allowed.
  absl::Status Check(const std::string& url) const;
  // Call: a thread POSTs `task` to the URL, with OSIA's ?transactionId= and &taskId=, in at most
  // three attempts; returns at once. A failed call, or one beyond kMaxQueued queued ones, is
  // logged: the client can poll the task.
  static constexpr size_t kMaxQueued = 1024;
  void Call(const std::string& url, const std::string& transaction, const Json& task);

 private:
  struct Queued {
    std::string url, transaction;
    Json task;
  };
  void Run();
  void Send(const Queued& waiting);
  // Pause: sleeps between two attempts; false if the object is being destroyed.
  bool Pause(std::chrono::seconds time);

  std::map<std::string, std::unique_ptr<HttpClient>> clients_;  // by origin
  std::mutex mutex_;                                            // of all below
  std::condition_variable came_;
  std::deque<Queued> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_CALLBACKS_H_
