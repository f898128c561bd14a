// SPDX-License-Identifier: Apache-2.0
// HttpDecider: the decider of service/matcher/decider_link.h over HTTP and TLS. If the decider does
// not answer, requests fail fast: after a few failures in a row only one request at a time tries
// it, until one succeeds.
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
// further failure for twice as long, up to `longest`; meanwhile every request is refused. Then one
// request may pass, and its result closes the circuit or opens it again. Any thread.
class Circuit {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    int failures = 3;
    std::chrono::milliseconds pause{1000}, longest{30000};
  };
  Circuit() = default;
  explicit Circuit(Options options) : options_(options) {}
  // Enter: OK, or kUnavailable with the seconds until the next attempt. After OK the caller must
  // call Leave.
  absl::Status Enter(Clock::time_point now = Clock::now());
  void Leave(bool answered, Clock::time_point now = Clock::now());
  // Instead of Leave: the caller's own deadline passed first, so the state stays as it is.
  void Abandon();
  bool open() const;

 private:
  Options options_;
  mutable std::mutex mutex_;
  int failures_ = 0;
  bool trying_ = false;  // a request is trying it while it is open
  std::chrono::milliseconds pause_{0};
  Clock::time_point until_;
};

struct ForwardOptions {
  // If no answer came, a message is sent again while time is left. The decider gives the same
  // answer to a reply that it has opened, and admissions and renewals may be requested any number
  // of times.
  int attempts = 3;
  std::chrono::milliseconds attempt{10000};  // for one of them, of a decision
  // Of admissions and renewals, for which no client waits, and whose time depends on their size.
  std::chrono::milliseconds exchange{30000};
  Circuit::Options circuit = {};
};

class HttpDecider : public Decider {
 public:
  // `tls`: the context of the client, for PrepareReload.
  explicit HttpDecider(std::unique_ptr<HttpClient> client, ForwardOptions options = {},
                       std::shared_ptr<TlsContext> tls = nullptr);

  absl::StatusOr<SignedDecision> Decide(std::span<const uint8_t> signed_replies,
                                        const Forwarded& of) override;
  absl::StatusOr<std::optional<std::vector<uint8_t>>> Approve(
      std::span<const uint8_t> signed_request, const Forwarded& of) override;
  absl::StatusOr<std::vector<uint8_t>> Renew(std::span<const uint8_t> signed_request,
                                             const Forwarded& of) override;
  // Reads certificates again, for new connections.
  absl::StatusOr<std::function<void()>> PrepareReload(const TlsFiles& files) {
    if (tls_ == nullptr) return [] {};
    return tls_->Prepare(files);
  }
  // Whether the decider has not answered lately, for the console and metrics.
  bool away() const { return decisions_.circuit.open() || exchanges_.circuit.open(); }

 private:
  // Way: failures of decisions and of other messages are counted separately.
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
  Way decisions_, exchanges_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_FORWARD_H_
