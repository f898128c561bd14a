// SPDX-License-Identifier: Apache-2.0
// Several programs use one gallery. Writers take turns, readers do not wait, and a repeated
// enrolment is told the outcome of the first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

constexpr int kPeople = 64;

class TogetherTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--jitter", "1", "--identities", "40", "--samples",
                 "6", "--dimensions", "24", "16"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft")));
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("keys")});
    for (int person = 0; person < kPeople; ++person) {
      for (const char* modality : {"face", "voice"}) {
        const Args args = {"encrypt",
                           "--model",
                           W("model.heft"),
                           "--key",
                           W("keys/encryption.key"),
                           "--modality",
                           modality,
                           "--in",
                           W("data/" + std::string(modality) + ".npy"),
                           "--row",
                           std::to_string(person),
                           "--label",
                           Name(person),
                           "--out",
                           Sample(person, modality)};
        person == 0 ? EncryptBoth(args) : Must(kHeft, args);
      }
    }
  }
  static void TearDownTestSuite() { delete work_; }

  static std::string W(const std::string& path) { return (*work_)(path); }
  static std::string Name(int person) { return "person" + std::to_string(person); }
  static std::string Sample(int person, const std::string& modality) {
    return W(Name(person) + "-" + modality + ".ct");
  }
  static Args Serve(const std::string& subcommand, const std::string& gallery, int person,
                    const Args& more = {}) {
    Args args = {subcommand,
                 "--model",
                 W("model.heft"),
                 "--keys",
                 W("keys/evaluation.keys"),
                 "--gallery",
                 gallery,
                 "--in",
                 Sample(person, "face"),
                 "--in",
                 Sample(person, "voice"),
                 "--threads",
                 "1"};
    args.insert(args.end(), more.begin(), more.end());
    return WithProbes(args);
  }
  // Runs the server with stdout redirected by bash.
  static Finished Redirected(const std::string& redirection, const Args& args) {
    Args all = {"-c", "exec \"$0\" \"$@\" " + redirection, kServer};
    all.insert(all.end(), args.begin(), args.end());
    return RunProgram("/bin/bash", all);
  }

  inline static Workplace* work_ = nullptr;
};

// In 0.1, 33 of 64 were refused, a third of them after all the fusing was done.
TEST_F(TogetherTest, WhoeverEnrolsAtTheSameTimeIsTaken) {
  const std::string gallery = W("crowded");
  std::vector<std::unique_ptr<Process>> all;
  for (int person = 0; person < kPeople; ++person) {
    all.push_back(std::make_unique<Process>(kServer, Serve("enrol", gallery, person)));
  }
  for (auto& process : all) {
    const Finished run = process->Wait();
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
  EXPECT_EQ(ActivatePending(Serve("enrol", gallery, 0), W("keys/secret.key"))["templates"],
            kPeople);
  EXPECT_EQ(Must(kServer, {"inspect", gallery})["identities"], kPeople);
}

// In 0.1, 12 of 19 identifications ended with exit code 3, because a block was replaced meanwhile.
TEST_F(TogetherTest, WhoeverAsksMeanwhileIsAnswered) {
  constexpr int kEnrolments = 20;
  const std::string gallery = W("asked");
  EnrolNow(Serve("enrol", gallery, 0), W("keys/secret.key"));
  std::atomic<int> left = kEnrolments;
  std::thread writer([&] {
    for (int person = 1; person <= kEnrolments; ++person, --left) {
      EnrolNow(Serve("enrol", gallery, person), W("keys/secret.key"));
    }
  });
  int asked = 0;
  for (; left > 0; ++asked) {
    const Finished run =
        RunProgram(kServer, Serve("identify", gallery, 0, {"--quiet", "--out", W("scores.ct")}));
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
  writer.join();
  EXPECT_GT(asked, 5);
  EXPECT_EQ(Must(kServer, {"inspect", gallery})["templates"], kEnrolments + 1);
}

TEST_F(TogetherTest, AnEnrolmentThatIsAskedForAgainHappensOnce) {
  const std::string gallery = W("again");
  const Args key = {"--idempotency-key", "the first"};
  const auto once = Must(kServer, Serve("enrol", gallery, 0, key));
  EXPECT_EQ(once["repeated"], false);
  EXPECT_EQ(once["pending"], 1);
  const auto store = SlurpStore(gallery);
  const auto twice = Must(kServer, Serve("enrol", gallery, 0, key));
  EXPECT_EQ(twice["repeated"], true);
  for (const char* field : {"brought", "pending", "templates", "blocks"}) {
    EXPECT_EQ(twice[field], once[field]) << field;
  }
  EXPECT_EQ(SlurpStore(gallery), store);
  const Finished said = RunProgram(kServer, Serve("enrol", gallery, 0, key));
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("already answered"));
  // Other samples or another name make another request.
  for (const Args& other :
       {Serve("enrol", gallery, 1, key),
        Serve("enrol", gallery, 0, {"--identity", "x", "--idempotency-key", "the first"})}) {
    const Finished run = RunProgram(kServer, other);
    EXPECT_EQ(run.exit_code, kInput);
    EXPECT_THAT(run.err, HasSubstr("idempotency key was given before"));
  }
  // Without the key, or with another one, the same samples are refused as before.
  for (const Args& more : {Args{}, Args{"--idempotency-key", "another"}}) {
    const Finished run = RunProgram(kServer, Serve("enrol", gallery, 0, more));
    EXPECT_EQ(run.exit_code, kInput);
    EXPECT_THAT(run.err, HasSubstr("were enrolled before"));
  }
  EXPECT_EQ(ActivatePending(Serve("enrol", gallery, 0), W("keys/secret.key"))["templates"], 1);
  // The stored answer is returned again, although the gallery has changed since.
  EXPECT_EQ(Must(kServer, Serve("enrol", gallery, 0, key))["templates"], once["templates"]);
}

// In 0.1, a committed enrolment could end with exit code 4, so a retry enrolled twice.
TEST_F(TogetherTest, WhatIsDoneAlthoughNobodyHearsItIsSaid) {
  int person = 0;
  for (const std::string redirection : {">/dev/full", ">&-"}) {
    SCOPED_TRACE(redirection);
    const std::string gallery = W("unheard-" + std::to_string(person));
    const Args enrol = Serve("enrol", gallery, person, {"--quiet", "--idempotency-key", "k 1"});
    const Finished run = Redirected(redirection, enrol);
    EXPECT_EQ(run.exit_code, kSystem) << run.err;
    EXPECT_THAT(run.err, HasSubstr("cannot write to stdout"));
    EXPECT_THAT(run.err, HasSubstr("the enrolment succeeded (1 templates pending)"));
    EXPECT_THAT(run.err, HasSubstr("--idempotency-key k 1"));
    EXPECT_EQ(Lines(run.err), 1u) << run.err;
    const auto again = Must(kServer, enrol);
    EXPECT_EQ(again["repeated"], true);
    EXPECT_EQ(again["brought"], 1);
    const Finished unnamed =
        Redirected(redirection, Serve("enrol", gallery, person + 1, {"--quiet"}));
    EXPECT_EQ(unnamed.exit_code, kSystem);
    EXPECT_THAT(unnamed.err, HasSubstr("the same samples are refused"));
    // The same for a release that has happened.
    Args pending = {
        "pending",   "--model", W("model.heft"), "--keys",       W("keys/evaluation.keys"),
        "--gallery", gallery,   "--out",         W("pending.ct")};
    Must(kServer, pending);
    Believe(W("keys/trust.heft"), gallery);
    Must(kHeft, {"answer", "--model", W("model.heft"), "--secret-key", W("keys/secret.key"), "--in",
                 W("pending.ct"), "--out", W("admission.heft")});
    const Finished release = Redirected(
        redirection, {"apply", "--model", W("model.heft"), "--keys", W("keys/evaluation.keys"),
                      "--gallery", gallery, "--in", W("admission.heft"), "--quiet"});
    EXPECT_EQ(release.exit_code, kSystem);
    EXPECT_THAT(release.err, HasSubstr("the admission itself is complete"));
    EXPECT_EQ(Must(kServer, {"inspect", gallery})["templates"], 2) << "and the store is whole";
    person += 2;
  }
}

}  // namespace
}  // namespace heft::e2e
