// SPDX-License-Identifier: Apache-2.0
// The inside of HttpServer: loops (each a thread and its connections), connections, and their
// shared data. Only sources that include this header use Boost.Asio.
#ifndef HEFT_SERVICE_HTTP_SERVER_INTERNAL_H_
#define HEFT_SERVICE_HTTP_SERVER_INTERNAL_H_

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "service/http/lanes.h"
#include "service/http/parsers.h"
#include "service/http/server.h"
#include "service/http/spool.h"
#include "service/http/wire.h"

namespace heft::service {

inline constexpr size_t kScratch = 64 << 10;
inline constexpr int kReadsInARow = 16;  // then others of the loop have their turn
// Scratch: a thread's buffer for bytes that are read and used at once.
inline std::span<uint8_t> Scratch() {
  thread_local std::vector<uint8_t> scratch(kScratch);
  return scratch;
}

using SteadyTime = std::chrono::steady_clock::time_point;

class Connection;

// Registry: counts connections, and lists those that can be ended for a new one: idle ones, oldest
// first, and those in a handshake.
class Registry {
 public:
  enum class List { kNone, kGreeting, kIdle };

  size_t count() const;
  void Enter();
  void Leave();
  // Entry: a connection in a list, and when it joined. Its iterator removes it.
  struct Entry {
    std::weak_ptr<Connection> connection;
    SteadyTime since;
  };
  std::list<Entry>::iterator Join(List which, std::weak_ptr<Connection> connection);
  void Part(List which, std::list<Entry>::iterator place);
  // Oldest: the connection to end; its own loop removes it from its list later. Null if all are
  // busy.
  std::shared_ptr<Connection> Oldest();
  bool WaitUntilEmpty(std::chrono::seconds patience);

 private:
  mutable std::mutex mutex_;
  std::condition_variable left_;
  size_t count_ = 0;
  std::list<Entry> greeting_, idle_;
};

// Common: shared by all connections of a server.
struct Common {
  Common(ServerLimits l, Router r, Gate g, Observer o, std::shared_ptr<TlsContext> t);
  const ServerLimits limits;
  const Router router;
  const Gate gate;
  const Observer observer;
  const std::shared_ptr<TlsContext> tls;
  const std::shared_ptr<SpoolBudget> budget = std::make_shared<SpoolBudget>();
  Registry registry;
  std::atomic<bool> draining{false}, cut{false};
  Lane workers;
  // For refusals, and for routes that must answer under load: liveness, metrics. The number of
  // connections bounds it.
  Lane side;
  // For partial openings. Two deciders whose workers all wait for each other would wait in vain.
  Lane fellows;
  static bool IsLight(Scope scope) {
    return scope == Scope::kPublic || scope == Scope::kReadMetrics;
  }
  Lane& LaneOf(Scope scope) {
    if (IsLight(scope)) return side;
    return scope == Scope::kOpenParts ? fellows : workers;
  }
};

// Loop: one thread and its connections.
class Loop {
 public:
  explicit Loop(Common* common) : common_(common), timer_(context) {}
  void Start();
  void Stop();  // after which no handler runs
  void Add(int fd, const std::string& peer);
  void Remove(const std::shared_ptr<Connection>& connection) { connections_.erase(connection); }
  // EndIdle: ends connections without a request, on the loop's thread.
  void EndIdle();
  void EndAll();

  boost::asio::io_context context{1};

 private:
  void Tick();
  Common* const common_;
  boost::asio::steady_timer timer_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::thread thread_;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Common* common, Loop* loop, int fd, std::string peer);
  ~Connection();
  void Start();
  void Tick(SteadyTime now);
  void End();
  void EndIfIdle();
  Loop* loop() const { return loop_; }

 private:
  enum class Phase { kGreeting, kIdle, kHead, kBody, kWorking, kWriting, kLingering, kEnded };
  using Step = void (Connection::*)();
  // Exchange: one request and its answer.
  struct Exchange {
    HttpRequest request;
    const Route* route = nullptr;
    std::optional<HttpResponse> refusal;
    std::string error_code;
    std::unique_ptr<BodyWriter> writer;
    uint64_t request_bytes = 0;
    SteadyTime began, queued, started;
    std::chrono::milliseconds patience{0};  // from the end of the body to the deadline
  };

  void Enter(Phase phase);
  void Wait(WireStep::Kind kind, Step then);
  void Greet();
  void ReadMore();
  void Parse();
  void HeadDone();
  bool PeerStillTrusted();
  std::optional<HttpResponse> Admit(const RequestHead& head);
  void Refuse(HttpResponse response);
  void BeginBody();
  void BodyDone();
  void Work(const std::shared_ptr<Exchange>& exchange, bool handled);
  HttpResponse Handle(const Exchange& exchange) const;
  void Send(HttpResponse response, const std::string& id);
  void WriteMore();
  void Written();
  void Linger();
  bool Slow(SteadyTime now) const;

  Common* const common_;
  Loop* const loop_;
  boost::asio::posix::stream_descriptor socket_;
  const std::string peer_;
  std::shared_ptr<SSL_CTX> context_;  // under which the peer's certificate was looked at last
  std::unique_ptr<Wire> wire_;
  std::optional<PeerCertificate> certificate_;
  Phase phase_ = Phase::kGreeting;
  Registry::List list_ = Registry::List::kNone;
  std::list<Registry::Entry>::iterator place_;
  SteadyTime since_, until_;  // of the phase; until: when it ends the connection
  uint64_t moved_ = 0;        // bytes in this phase
  std::vector<uint8_t> in_;   // received bytes that are not used yet
  std::unique_ptr<RequestReader> reader_;
  std::shared_ptr<Exchange> exchange_;
  std::string out_head_;
  std::vector<uint8_t> out_body_;
  size_t out_done_ = 0;
  bool close_after_ = false, continue_first_ = false, unread_ = false;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_SERVER_INTERNAL_H_
