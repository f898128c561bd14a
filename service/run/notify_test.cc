// SPDX-License-Identifier: Apache-2.0
#include "service/run/notify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/testing.h"
#include "service/run/metrics.h"

namespace heft::service {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Listener: systemd's end of the socket.
class Listener {
 public:
  explicit Listener(const std::string& path) : fd_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~Listener() {
    close(fd_);
    unsetenv("NOTIFY_SOCKET");
  }
  std::string Next() const {
    char text[1000];
    const ssize_t n = recv(fd_, text, sizeof text, 0);
    return n < 0 ? "" : std::string(text, n);
  }

 private:
  const int fd_;
};

TEST(NotifyTest, SystemdIsTold) {
  unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(Notify("READY=1").ok());
  const heft::testing::TemporaryFolder folder;
  const Listener listener(folder / "notify");
  EXPECT_TRUE(Notify("READY=1\nSTATUS=all is well").ok());
  EXPECT_EQ(listener.Next(), "READY=1\nSTATUS=all is well");
  EXPECT_TRUE(NotifyReloading().ok());
  EXPECT_THAT(listener.Next(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  setenv("NOTIFY_SOCKET", (folder / "nowhere").c_str(), 1);
  EXPECT_FALSE(Notify("READY=1").ok());
  setenv("NOTIFY_SOCKET", "relative", 1);
  EXPECT_FALSE(Notify("READY=1").ok());
}

TEST(NotifyTest, Watchdog) {
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
  EXPECT_FALSE(WatchdogInterval().has_value());
  setenv("WATCHDOG_USEC", "3000000", 1);
  EXPECT_EQ(WatchdogInterval(), milliseconds(1500));
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_FALSE(WatchdogInterval().has_value());
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_TRUE(WatchdogInterval().has_value());
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
}

TEST(NotifyTest, DescriptorsOfSomebodyElseAreNotOurs) {
  unsetenv("LISTEN_PID");
  setenv("LISTEN_FDS", "1", 1);
  EXPECT_TRUE(ListenDescriptors()->empty());
  setenv("LISTEN_PID", "1", 1);
  EXPECT_TRUE(ListenDescriptors()->empty());
  setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  setenv("LISTEN_FDS", "many", 1);
  EXPECT_FALSE(ListenDescriptors().ok());
  unsetenv("LISTEN_PID");
  unsetenv("LISTEN_FDS");
}

TEST(NotifyTest, SignalsAreValues) {
  Signals signals;
  EXPECT_EQ(signals.Wait(milliseconds(0)), Signals::Kind::kNone);
  kill(getpid(), SIGHUP);
  EXPECT_EQ(signals.Wait(milliseconds(1000)), Signals::Kind::kReload);
  kill(getpid(), SIGTERM);
  EXPECT_EQ(signals.Wait(milliseconds(1000)), Signals::Kind::kStop);
  kill(getpid(), SIGINT);
  EXPECT_EQ(signals.Wait(milliseconds(1000)), Signals::Kind::kStop);
}

TEST(MetricsTest, TextOfPrometheus) {
  const auto metrics = Metrics::Create();
  metrics->Counter("heft_things_total", "things");
  metrics->Gauge("heft_age", "age");
  metrics->Histogram("heft_seconds", "time", {0.1, 1});
  metrics->Add("heft_things_total", {{"kind", "a\"b"}}, 2);
  metrics->Add("heft_things_total", {{"kind", "a\"b"}});
  metrics->Observe("heft_seconds", {}, 0.5);
  int reads = 0;
  metrics->BeforeReading([&] { metrics->Set("heft_age", {}, ++reads); });
  const std::string text = metrics->Text();
  EXPECT_THAT(text, HasSubstr("# TYPE heft_things_total counter"));
  EXPECT_THAT(text, HasSubstr("heft_things_total{kind=\"a\\\"b\"} 3"));
  EXPECT_THAT(text, HasSubstr("heft_age 1"));
  EXPECT_THAT(text, HasSubstr("heft_seconds_bucket{le=\"1\"} 1"));
  EXPECT_THAT(text, HasSubstr("heft_seconds_bucket{le=\"0.1\"} 0"));
  EXPECT_THAT(metrics->Text(), HasSubstr("heft_age 2"));
  EXPECT_DEATH(metrics->Add("heft_age", {}), "of another kind");
  EXPECT_DEATH(metrics->Gauge("heft_things_total", ""), "twice");
}

}  // namespace
}  // namespace heft::service
