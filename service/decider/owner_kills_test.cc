// SPDX-License-Identifier: Apache-2.0
// Openings while owners are killed and restarted at random: three heft-decider processes have
// shares of one key, and two of them open. Each reply is asked of one decider after the other until
// there is an answer. Afterwards no decision is wrong, each opened reply is in the journals of at
// least two owners, and no question has waited for its answer for more than 10 s.
//
// HEFT_OPENINGS=1000 is the long run (24 by default). HEFT_TEMPLATES=10000 measures a decision of a
// gallery of so many, by one decider and by two of three. Both print their figures as JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "absl/strings/numbers.h"
#include "heft/desk.h"
#include "service/decider/fellows_testing.h"

namespace heft::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::Bytes;
using testing::FellowsWorld;

constexpr double kMaxSilence = 10;  // seconds
constexpr uint64_t kPeople = 3;

double Since(steady_clock::time_point began) {
  return std::chrono::duration<double>(steady_clock::now() - began).count();
}

// Daemon: one owner's process.
class Daemon {
 public:
  Daemon(const FellowsWorld& world, uint32_t owner) {
    const DeciderConfig& config = world.owners[owner - 1]->config;
    const TlsFiles& tls = config.common.tls;
    std::string text = absl::StrCat(
        "[listen]\naddress = \"127.0.0.1:", world.owners[owner - 1]->port, "\"\n[tls]\n",
        "certificate = \"", tls.certificate, "\"\nprivate_key = \"", tls.private_key,
        "\"\nauthorities = \"", tls.authorities, "\"\n[access]\nrequests_a_second = 0\nnonces = \"",
        config.common.authority.nonces, "\"\n[audit]\nfile = \"", config.common.audit_log,
        "\"\n[log]\nlevel = \"error\"\n[key]\nlock_memory = false\npassphrase = \"none\"\nmodel = "
        "\"",
        config.key.model, "\"\nsecret_key = \"", config.key.secret_key, "\"\ntrust = \"",
        config.key.trust, "\"\n[decisions]\nkey = \"", config.decision_key,
        "\"\n[state]\nfolder = \"", config.state_folder, "\"\n[[gallery]]\nid = \"",
        HexString(world.id), "\"\nname = \"visitors\"\nfpir = 0.01\nfmr = 0.001\n");
    absl::StrAppend(&text, "[[certificate]]\nsubject = \"matcher\"\nroles = [\"machine\"]\n");
    for (const FellowConfig& fellow : config.fellows) {
      absl::StrAppend(&text, "[[certificate]]\nsubject = \"", fellow.name,
                      "\"\nroles = [\"fellow\"]\n[[fellow]]\nowner = ", fellow.owner, "\nname = \"",
                      fellow.name, "\"\nurl = \"", fellow.url,
                      "\"\nwait_milliseconds = ", fellow.wait.count(), "\n");
    }
    path_ = world.folder / absl::StrCat("decider-", owner, ".toml");
    EXPECT_TRUE(WriteFileAtomic(path_, text).ok());
    client_ = *HttpClient::Create(absl::StrCat("https://localhost:", world.owners[owner - 1]->port),
                                  *TlsContext::ForClient(world.ca.Issue("matcher")));
  }
  ~Daemon() { Kill(); }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  void Start() {
    const char* const arguments[] = {HEFT_DECIDER, "serve", "--config", path_.c_str(), nullptr};
    process_ = fork();
    if (process_ != 0) return;
    execv(HEFT_DECIDER, const_cast<char**>(arguments));
    _exit(127);
  }
  // Until it answers, or it has ended.
  bool Await() {
    for (int i = 0; i < 600; ++i) {
      const auto response =
          client_->Send({.target = "/health/ready", .deadline = milliseconds(500), .sign = false});
      if (response.ok() && response->status == 200) return true;
      if (waitpid(process_, nullptr, WNOHANG) == process_) return false;
      std::this_thread::sleep_for(milliseconds(50));
    }
    return false;
  }
  void Signal(int signal) const { kill(process_, signal); }
  void Kill() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  absl::StatusOr<HttpResponse> Decide(const Bytes& reply) {
    return client_->Send({.method = "POST",
                          .target = "/v1/decisions",
                          .content_type = std::string(kHeftType),
                          .body = reply,
                          .deadline = milliseconds(5000)});
  }

 private:
  pid_t process_ = 0;
  std::string path_;
  std::unique_ptr<HttpClient> client_;
};

// Killer: kills or stops one owner after the other, and all but one now and then.
class Killer {
 public:
  Killer(std::vector<std::unique_ptr<Daemon>>* daemons, uint64_t seed)
      : daemons_(*daemons), random_(seed), thread_([this] { Run(); }) {}
  void Stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  ~Killer() { Stop(); }
  size_t kills = 0, stops = 0;
  bool good = true;

 private:
  uint64_t Draw(uint64_t below) { return random_() % below; }
  void Run() {
    while (!stopping_) {
      const size_t first = Draw(3);
      std::vector<size_t> chosen = {first};
      if (Draw(8) == 0) chosen.push_back((first + 1) % 3);
      const bool frozen = Draw(4) == 0;
      for (const size_t i : chosen) frozen ? daemons_[i]->Signal(SIGSTOP) : daemons_[i]->Kill();
      (frozen ? stops : kills) += chosen.size();
      std::this_thread::sleep_for(milliseconds(Draw(1500)));
      for (const size_t i : chosen) frozen ? daemons_[i]->Signal(SIGCONT) : daemons_[i]->Start();
      for (const size_t i : chosen) good &= daemons_[i]->Await();
      std::this_thread::sleep_for(milliseconds(Draw(1000)));
    }
  }

  std::vector<std::unique_ptr<Daemon>>& daemons_;
  std::mt19937_64 random_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// Asked: a number of the environment.
size_t Asked(const char* name, size_t fallback) {
  const char* const text = std::getenv(name);
  size_t number = fallback;
  if (text != nullptr && !absl::SimpleAtoi(text, &number)) ADD_FAILURE() << name;
  return number;
}

// Approve: by the deciders in this process.
void Approve(FellowsWorld* world) {
  const HttpResponse approved =
      world->Post("matcher", 1, "/v1/exchange/admissions", world->Pending());
  ASSERT_EQ(approved.status, 200) << testing::TextOf(approved);
  const auto done = world->server->Activate(world->gallery, approved.body, "admission",
                                            *Trust::Load(world->set.keys.trust));
  ASSERT_TRUE(done.ok()) << done.status();
}

// StartAll: the deciders as processes instead of those of this process.
std::vector<std::unique_ptr<Daemon>> StartAll(FellowsWorld* world) {
  std::vector<std::unique_ptr<Daemon>> daemons;
  for (const auto& one : world->owners) {
    EXPECT_TRUE(one->SetBudget({1000000, 1000000, 1000000000, 1000000}).ok());
    one->Stop();
    daemons.push_back(std::make_unique<Daemon>(*world, one->owner));
    daemons.back()->Start();
  }
  for (const auto& daemon : daemons) EXPECT_TRUE(daemon->Await());
  return daemons;
}

TEST(OwnerKillsTest, NothingIsWrongOrOpenedByOne) {
  FellowsWorld world("owner_kills_test");
  for (uint64_t p = 1; p < kPeople; ++p) world.Enrol(p, absl::StrCat("p", p));
  Approve(&world);
  std::vector<std::unique_ptr<Daemon>> daemons = StartAll(&world);

  const size_t openings = Asked("HEFT_OPENINGS", 24);
  size_t wrong = 0, searches = 0, refused = 0, unanswered = 0;
  double longest = 0;
  std::vector<Bytes> opened;
  std::mt19937_64 random(7);
  Killer killer(&daemons, 11);
  const auto began = steady_clock::now();
  for (size_t i = 0; i < openings; ++i) {
    const uint64_t person = 1 + random() % kPeople;  // the last one is a stranger
    const auto asked = steady_clock::now();
    bool answered = false;
    while (!answered && Since(asked) < 60) {
      const Bytes reply = world.Search(person);
      ++searches;
      for (size_t k = 0; k < 4 && !answered; ++k) {
        const auto response = daemons[(i + k) % 3]->Decide(reply);
        if (!response.ok() || response->status / 100 == 5) {
          ++unanswered;
          continue;
        }
        if (response->status != 200) {
          ++refused;  // its answer was lost: it is opened, and cannot be again
          break;
        }
        answered = true;
        opened.push_back(reply);
        const Json decision = Json::parse(response->body);
        const bool right =
            person == kPeople
                ? decision["accepted"] == false
                : decision["accepted"] == true && decision["identity"] == absl::StrCat("p", person);
        if (!right) ++wrong;
      }
    }
    EXPECT_TRUE(answered) << "opening " << i;
    longest = std::max(longest, Since(asked));
  }
  const double seconds = Since(began);
  killer.Stop();
  EXPECT_TRUE(killer.good) << "an owner did not come back";
  daemons.clear();

  // Who has opened a reply opens it no more.
  std::vector<size_t> journals(opened.size());
  for (const auto& one : world.owners) {
    KeyOwner owner = *KeyOwner::Load(world.model, one->config.key.secret_key);
    Trust trust = *Trust::Load(one->config.key.trust);
    trust.Pin(world.id);
    ASSERT_TRUE(owner.RequireSigned(std::move(trust)).ok());
    const OwnerSet set = one->owner == 3 ? OwnerSet{2, 3} : OwnerSet{one->owner, 3};
    for (size_t i = 0; i < opened.size(); ++i) {
      const ReplyFile file = {opened[i], "reply"};
      const auto part = owner.OpenPart({{&file, 1}}, set, DecisionRule{.fmr = 0.001, .fpir = 0.01});
      if (part.ok()) continue;
      EXPECT_THAT(std::string(part.status().message()), ::testing::HasSubstr("opened before"));
      ++journals[i];
    }
  }
  const size_t alone = std::ranges::count_if(journals, [](size_t n) { return n < 2; });
  std::cout << Json({{"openings", opened.size()},
                     {"seconds", seconds},
                     {"searches", searches},
                     {"kills", killer.kills},
                     {"stops", killer.stops},
                     {"unanswered", unanswered},
                     {"refused", refused},
                     {"wrong", wrong},
                     {"opened_by_fewer_than_two", alone},
                     {"longest_without_answer", longest}})
                   .dump()
            << "\n";
  EXPECT_EQ(opened.size(), openings);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(alone, 0u);
  EXPECT_LE(longest, kMaxSilence);
}

// Fill: enrols so many random people, and ann.
void Fill(FellowsWorld* world, size_t templates) {
  world->Enrol(1, "ann");
  Approve(world);
  const Model& model = world->model;
  std::mt19937_64 random(5);
  std::vector<std::string> labels;
  std::vector<std::vector<float>> values(model.modalities.size());
  for (size_t i = 1; i < templates; ++i) {
    labels.push_back(absl::StrCat("person-", i));
    const auto sample = experiment::RandomSample(model, random);
    for (size_t m = 0; m < values.size(); ++m) {
      values[m].insert(values[m].end(), sample[m].begin(), sample[m].end());
    }
  }
  std::vector<Samples> rows;
  for (size_t m = 0; m < values.size(); ++m) {
    rows.push_back({model.modalities[m].name, values[m], labels});
  }
  const Trust trust = *Trust::Load(world->set.keys.trust);
  EnrolManyOptions options;
  options.trust = &trust;
  options.approve = [&](std::span<const uint8_t> request) -> absl::StatusOr<Bytes> {
    HttpResponse answer =
        world->Post("matcher", 1, "/v1/exchange/admissions", {request.begin(), request.end()});
    if (answer.status == 200) return std::move(answer.body);
    return absl::UnavailableError(testing::TextOf(answer));
  };
  const auto done = EnrolMany(*world->client, *world->server, world->gallery, rows, options);
  ASSERT_TRUE(done.ok()) << done.status();
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

TEST(OwnerKillsTest, MeasuresADecision) {
  const size_t templates = Asked("HEFT_TEMPLATES", 0);
  if (templates == 0) GTEST_SKIP() << "HEFT_TEMPLATES=10000 measures";
  FellowsWorld shared("measured_shared"), whole("measured_single", 1);
  std::vector<std::unique_ptr<Daemon>> daemons[2];
  std::vector<double> searches, decisions[2];
  for (FellowsWorld* const world : {&whole, &shared}) {
    Fill(world, templates);
    daemons[world == &shared] = StartAll(world);
  }
  for (int i = 0; i < 33; ++i) {
    for (FellowsWorld* const world : {&whole, &shared}) {
      const auto files = world->Files(1, "", SampleUse::kIdentification);
      auto began = steady_clock::now();
      const auto scores = world->server->Identify(*Gallery::Open(world->gallery), files);
      ASSERT_TRUE(scores.ok()) << scores.status();
      const Bytes reply = world->Signed(world->gallery, *scores);
      if (i >= 3) searches.push_back(Since(began));
      began = steady_clock::now();
      const auto response = daemons[world == &shared][0]->Decide(reply);
      if (i >= 3) decisions[world == &shared].push_back(Since(began));
      ASSERT_TRUE(response.ok()) << response.status();
      ASSERT_EQ(response->status, 200) << testing::TextOf(*response);
      EXPECT_EQ(Json::parse(response->body)["identity"], "ann");
    }
  }
  const double search = Median(searches), one = Median(decisions[0]), two = Median(decisions[1]);
  std::cout << Json({{"templates", templates},
                     {"search", search},
                     {"one_decider", one},
                     {"two_of_three", two},
                     {"ratio", two / one},
                     {"ratio_with_search", (search + two) / (search + one)}})
                   .dump()
            << "\n";
}

}  // namespace
}  // namespace heft::service
