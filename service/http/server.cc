// SPDX-License-Identifier: Apache-2.0
#include "service/http/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "service/http/server_internal.h"

namespace heft::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr milliseconds kTick{200};
constexpr size_t kLoops = 2;
constexpr seconds kHandshakesTake{2};  // at most, on both sides' good will

absl::Status SystemRefused(const std::string& what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// Descriptor: closes the descriptor, unless another object takes it.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  int Release() { return std::exchange(fd, -1); }
};

absl::StatusOr<int> OpenListener(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  uint32_t port = 0;
  if (colon == address.npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) ||
      port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\" is not an address: write 127.0.0.1:8443 or [::]:8443"));
  }
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  if (getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &wanted, &found) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\": write the address in numbers, such as 127.0.0.1:8443"));
  }
  Descriptor socket_fd{socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  const int on = 1;
  if (socket_fd.fd >= 0) setsockopt(socket_fd.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool open = socket_fd.fd >= 0 &&
                    bind(socket_fd.fd, found->ai_addr, found->ai_addrlen) == 0 &&
                    listen(socket_fd.fd, 1024) == 0;
  freeaddrinfo(found);
  if (!open) return SystemRefused(absl::StrCat("cannot listen at ", address));
  return socket_fd.Release();
}

std::string PeerAddress(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    return absl::StrCat(text, ":", ntohs(v4->sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    return absl::StrCat("[", text, "]:", ntohs(v6->sin6_port));
  }
  return "local";
}

class BeastServer : public HttpServer {
 public:
  BeastServer(std::unique_ptr<Common> common, int listener, uint16_t port)
      : common_(std::move(common)), port_(port) {
    for (size_t i = 0; i < kLoops; ++i) loops_.push_back(std::make_unique<Loop>(common_.get()));
    listener_.emplace(loops_[0]->context, listener);
    pause_.emplace(loops_[0]->context);
  }
  ~BeastServer() override {
    StopListening();
    for (auto& loop : loops_) {
      boost::asio::post(loop->context, [l = loop.get()] { l->EndAll(); });
    }
    if (started_) common_->registry.WaitUntilEmpty(seconds(1));
    common_->workers.Stop();
    common_->fellows.Stop();
    common_->side.Stop();
    for (auto& loop : loops_) loop->Stop();
    listener_.reset();
    pause_.reset();
    loops_.clear();  // drops queued work before the objects that it uses
  }

  uint16_t port() const override { return port_; }
  ServerLoad load() const override {
    return {common_->registry.count(), common_->workers.queued(), common_->budget->memory,
            common_->budget->spooled};
  }

  void Start() override {
    started_ = true;
    Accept();
    for (auto& loop : loops_) loop->Start();
  }

  bool Drain(seconds patience) override {
    common_->draining = true;
    StopListening();
    const auto end = steady_clock::now() + patience;
    do {
      for (auto& loop : loops_) {
        boost::asio::post(loop->context, [l = loop.get()] { l->EndIdle(); });
      }
      if (common_->registry.WaitUntilEmpty(seconds(1))) return true;
    } while (steady_clock::now() < end);
    for (auto& loop : loops_) {
      boost::asio::post(loop->context, [l = loop.get()] { l->EndAll(); });
    }
    return false;
  }

 private:
  void StopListening() {
    if (!started_) return;
    boost::asio::post(loops_[0]->context, [this] {
      boost::system::error_code ignored;
      if (listener_) listener_->close(ignored);
      pause_->cancel(ignored);
    });
  }

  void Accept() {
    listener_->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          [this](boost::system::error_code error) {
                            if (!error) AcceptAll();
                          });
  }

  // AcceptAll: accepts all waiting connections; if the system has no more descriptors, tries again
  // later.
  void AcceptAll() {
    for (int i = 0; i < 64; ++i) {
      sockaddr_storage address{};
      socklen_t size = sizeof address;
      Descriptor fd{accept4(listener_->native_handle(), reinterpret_cast<sockaddr*>(&address),
                            &size, SOCK_NONBLOCK | SOCK_CLOEXEC)};
      if (fd.fd >= 0) {
        Take(&fd, PeerAddress(address));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return Accept();
      } else if (errno != ECONNABORTED && errno != EINTR) {
        MakeRoom();
        pause_->expires_after(milliseconds(100));
        return pause_->async_wait([this](boost::system::error_code error) {
          if (!error) Accept();
        });
      }
    }
    Accept();
  }

  bool MakeRoom() {
    const std::shared_ptr<Connection> oldest = common_->registry.Oldest();
    if (oldest == nullptr) return false;
    boost::asio::post(oldest->loop()->context, [oldest] { oldest->EndIfIdle(); });
    return true;
  }

  void Take(Descriptor* fd, const std::string& peer) {
    if (common_->registry.count() >= common_->limits.connections && !MakeRoom()) return;
    const int on = 1;
    setsockopt(fd->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Loop* loop = loops_[next_++ % loops_.size()].get();
    boost::asio::post(loop->context,
                      [loop, taken = fd->Release(), peer] { loop->Add(taken, peer); });
  }

  const std::unique_ptr<Common> common_;
  const uint16_t port_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::optional<boost::asio::posix::stream_descriptor> listener_;
  std::optional<boost::asio::steady_timer> pause_;
  size_t next_ = 0;
  bool started_ = false;
};

}  // namespace

size_t Registry::count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return count_;
}

void Registry::Enter() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++count_;
}

void Registry::Leave() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (--count_ == 0) left_.notify_all();
}

std::list<Registry::Entry>::iterator Registry::Join(List which,
                                                    std::weak_ptr<Connection> connection) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::list<Entry>& list = which == List::kGreeting ? greeting_ : idle_;
  return list.insert(list.end(), Entry{std::move(connection), steady_clock::now()});
}

void Registry::Part(List which, std::list<Entry>::iterator place) {
  const std::lock_guard<std::mutex> lock(mutex_);
  (which == List::kGreeting ? greeting_ : idle_).erase(place);
}

std::shared_ptr<Connection> Registry::Oldest() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto now = steady_clock::now();
  const bool stalled = !greeting_.empty() && now - greeting_.front().since > kHandshakesTake;
  for (std::list<Entry>* list :
       stalled ? std::vector{&greeting_, &idle_} : std::vector{&idle_, &greeting_}) {
    for (Entry& entry : *list) {
      // Returned once: the next new connection ends another.
      if (auto connection = std::exchange(entry.connection, {}).lock()) return connection;
    }
  }
  return nullptr;
}

bool Registry::WaitUntilEmpty(seconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  return left_.wait_for(lock, patience, [this] { return count_ == 0; });
}

Common::Common(ServerLimits l, Router r, Gate g, Observer o, std::shared_ptr<TlsContext> t)
    : limits(std::move(l)),
      router(std::move(r)),
      gate(std::move(g)),
      observer(std::move(o)),
      tls(std::move(t)),
      workers(limits.workers, limits.queued),
      side(2, std::numeric_limits<size_t>::max() / 2),
      fellows(2, limits.queued) {
  budget->memory_body = limits.memory_body;
  budget->most_memory = 64 * limits.memory_body;
  budget->most_spooled = limits.spooled_bytes;
  budget->folder = limits.spool;
}

void Loop::Start() {
  thread_ = std::thread([this] {
    const auto guard = boost::asio::make_work_guard(context);
    Tick();
    context.run();
  });
}

void Loop::Stop() {
  context.stop();
  if (thread_.joinable()) thread_.join();
  connections_.clear();
}

void Loop::Add(int fd, const std::string& peer) {
  if (common_->draining) {
    close(fd);
    return;
  }
  const auto connection = std::make_shared<Connection>(common_, this, fd, peer);
  connections_.insert(connection);
  connection->Start();
}

void Loop::Tick() {
  const auto now = steady_clock::now();
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->Tick(now);
  timer_.expires_after(kTick);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) Tick();
  });
}

void Loop::EndIdle() {
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->EndIfIdle();
}

void Loop::EndAll() {
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->End();
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(const std::string& address,
                                                               int listener,
                                                               std::shared_ptr<TlsContext> tls,
                                                               ServerLimits limits, Router router,
                                                               Gate gate, Observer observer) {
  IgnoreBrokenPipes();
  Descriptor fd{listener};
  if (fd.fd < 0) {
    auto opened = OpenListener(address);
    if (!opened.ok()) return opened.status();
    fd.fd = *opened;
  }
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  const int flags = fcntl(fd.fd, F_GETFL);
  if (flags < 0 || fcntl(fd.fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
      getsockname(fd.fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return SystemRefused("the given descriptor is not a socket");
  }
  const uint16_t port =
      name.ss_family == AF_INET    ? ntohs(reinterpret_cast<sockaddr_in*>(&name)->sin_port)
      : name.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6*>(&name)->sin6_port)
                                   : 0;
  auto common = std::make_unique<Common>(std::move(limits), std::move(router), std::move(gate),
                                         std::move(observer), std::move(tls));
  return std::make_unique<BeastServer>(std::move(common), fd.Release(), port);
}

}  // namespace heft::service
