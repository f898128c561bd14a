// SPDX-License-Identifier: Apache-2.0
// HttpDecider: the decider of service/matcher/decider_link.h over HTTP and TLS. It is quick about a
// decider that is away: after a few failures in a row nobody waits for it any more, until one
// request at a time has found it back.
#ifndef HEFT_SERVICE_MATCHER_FORWARD_H_
#define HEFT_SERVICE_MATCHER_FORWARD_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/http/client.h"
#include "service/matcher/decider_link.h"

namespace heft::service {

// Circuit: closed while the other side answers. `failures` in a row open it for `pause`, and each
// further failure for twice as long, up to `longest`; meanwhile nobody is let through. After that
// one is, and what becomes of him decides. Any thread.
class Circuit {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    int failures = 3;
    std::chrono::milliseconds pause{1000}, longest{30000};
  };
  Circuit() = default;
  explicit Circuit(Options options) : options_(options) {}
  // Enter: OK, or kUnavailable with the seconds after which to ask again. Who was let in calls
  // Leave.
  absl::Status Enter(Clock::time_point now = Clock::now());
  void Leave(bool answered, Clock::time_point now = Clock::now());
  // In place of Leave: his own time was over before anybody could tell, so it stays as it is.
  void Abandon();
  bool open() const;

 private:
  Options options_;
  mutable std::mutex mutex_;
  int failures_ = 0;
  bool trying_ = false;  // somebody was let through while it was open
  std::chrono::milliseconds pause_{0};
  Clock::time_point until_;
};

struct ForwardOptions {
  // A message is sent again where no answer came, as long as time is left: the decider knows a
  // reply that it has opened and gives the same answer again, and admissions and renewals may be
  // asked for any number of times.
  int attempts = 3;
  std::chrono::milliseconds attempt{10000};  // for one of them, of a decision
  // Of admissions and renewals, for which nobody waits and which take as long as there is to do.
  std::chrono::milliseconds errand{30000};
  Circuit::Options circuit = {};
};

class HttpDecider : public Decider {
 public:
  // `tls`: what the client connects with, for Reload.
  explicit HttpDecider(std::unique_ptr<HttpClient> client, ForwardOptions options = {},
                       std::shared_ptr<TlsContext> tls = nullptr);

  absl::StatusOr<SignedDecision> Decide(std::span<const uint8_t> signed_reply,
                                        const Forwarded& of) override;
  absl::StatusOr<std::optional<std::vector<uint8_t>>> Admit(std::span<const uint8_t> signed_request,
                                                            const Forwarded& of) override;
  absl::StatusOr<std::vector<uint8_t>> Renew(std::span<const uint8_t> signed_request,
                                             const Forwarded& of) override;
  // Reads certificates anew, for connections from now on.
  absl::StatusOr<std::function<void()>> PrepareReload(const TlsFiles& files) {
    if (tls_ == nullptr) return [] {};
    return tls_->Prepare(files);
  }
  // Whether it has not answered lately: for the console and metrics.
  bool away() const { return decisions_.circuit.open() || errands_.circuit.open(); }

 private:
  // Way: decisions and errands do not close the decider to each other.
  struct Way {
    const std::chrono::milliseconds attempt;
    Circuit circuit;
  };
  absl::StatusOr<HttpResponse> Post(Way* way, const std::string& path,
                                    std::span<const uint8_t> body, const Forwarded& of);
  absl::StatusOr<HttpResponse> Try(Way* way, const ClientRequest& request);

  const std::unique_ptr<HttpClient> client_;
  const ForwardOptions options_;
  const std::shared_ptr<TlsContext> tls_;
  Way decisions_, errands_;
};

// StatusOfError: what a service's error response says, as a status: by its code, else by its HTTP
// status. `what` names the service.
absl::Status StatusOfError(const HttpResponse& response, const std::string& what);

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_FORWARD_H_
