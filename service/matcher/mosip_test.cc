// SPDX-License-Identifier: Apache-2.0
// MOSIP's messages to a real matcher: each is answered, and each failure has MOSIP's reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "examples/mosip_adapter.h"
#include "service/json.h"
#include "service/matcher/testing.h"

namespace heft::service {
namespace {

using testing::KeyMaterial;
using testing::MatcherWorld;

class MosipTest : public ::testing::Test {
 protected:
  MosipTest() : keys_(folder_.path(), 1), world_(keys_, nullptr) {
    world_.Start();
    // Here each certificate has one role.
    brings_ = Adapter("registrar");
    asks_ = Adapter("client");
  }
  std::unique_ptr<examples::MosipAdapter> Adapter(const std::string& who) {
    return std::make_unique<examples::MosipAdapter>(
        &world_.service().Client(who), "main",
        [this](const std::string& url) { return Fetch(url); });
  }
  std::string Document(uint64_t person) const {
    Json data = Json::array();
    for (const auto& bytes : keys_.Sample(person)) {
      data.push_back({{"template", Base64(bytes)}, {"templateFormat", "heft-sample-1"}});
    }
    return Json({{"biometricData", data}}).dump();
  }
  absl::StatusOr<std::string> Fetch(const std::string& url) const {
    if (url == "https://share/expired") return absl::PermissionDeniedError("expired");
    if (url == "https://share/away") return absl::UnavailableError("away");
    if (url == "https://share/empty") return std::string();
    if (url == "https://share/cbeff") return std::string("<BIR/>");
    if (url.starts_with("https://share/person")) return Document(std::stoull(url.substr(20)));
    return absl::NotFoundError("nothing there");
  }
  // A message's answer: "1", or "2:reason".
  std::string Say(const Json& message) {
    const Json answer = Ask(message);
    const std::string value = answer["returnValue"];
    return value == "1" ? value : value + ":" + answer["failureReason"].get<std::string>();
  }
  Json Ask(const Json& message) {
    const std::string id = message.value("id", "");
    auto& adapter = *(id == "mosip.abis.identify" ? asks_ : brings_);
    return Json::parse(adapter.Answer(message.dump()).dump());
  }
  static Json Message(const std::string& what, const std::string& reference,
                      const std::string& url = "", const std::string& request = "r") {
    Json out = {{"id", "mosip.abis." + what},
                {"version", "1.1"},
                {"requestId", request},
                {"requesttime", "2026-03-29T07:01:24.692Z"}};
    if (!reference.empty()) out["referenceId"] = reference;
    if (!url.empty()) out["referenceURL"] = url;
    return out;
  }

  heft::testing::TemporaryFolder folder_;
  KeyMaterial keys_;
  MatcherWorld world_;
  std::unique_ptr<examples::MosipAdapter> brings_, asks_;
};

TEST_F(MosipTest, InsertIdentifyDelete) {
  EXPECT_EQ(Say(Message("ping", "")), "1");
  EXPECT_EQ(Say(Message("insert", "ref-1", "https://share/person1", "a")), "1");
  EXPECT_EQ(Say(Message("insert", "ref-2", "https://share/person2", "b")), "1");
  EXPECT_EQ(Say(Message("insert", "ref-2", "https://share/person3", "c")), "2:10");
  EXPECT_EQ(Ask(Message("referenceCount", ""))["count"], "2");
  EXPECT_EQ(Ask(Message("pendingJobs", ""))["jobscount"], "0");
  // The same person comes a second time, under another reference.
  Json search = Message("identify", "ref-3", "https://share/person2");
  Json found = Ask(search);
  EXPECT_EQ(found["returnValue"], "1") << found;
  EXPECT_EQ(found["candidateList"]["count"], "1");
  EXPECT_EQ(found["candidateList"]["candidates"][0]["referenceId"], "ref-2");
  search["gallery"]["referenceIds"] = Json::array({{{"referenceId", "ref-1"}}});
  EXPECT_EQ(Ask(search)["candidateList"]["count"], "0");
  search["gallery"]["referenceIds"] =
      Json::array({{{"referenceId", "ref-1"}}, {{"referenceId", "ref-2"}}});
  EXPECT_EQ(Ask(search)["candidateList"]["count"], "1");
  search["referenceId"] = "ref-2";
  EXPECT_EQ(Ask(search)["candidateList"]["count"], "0") << "not himself";
  EXPECT_EQ(Ask(Message("identify", "ref-4", "https://share/person9"))["candidateList"]["count"],
            "0");
  EXPECT_EQ(Say(Message("delete", "ref-2")), "1");
  EXPECT_EQ(Say(Message("delete", "ref-2")), "2:12");
  EXPECT_EQ(Ask(Message("identify", "ref-3", "https://share/person2"))["candidateList"]["count"],
            "0");
}

TEST_F(MosipTest, FailuresHaveTheirReasons) {
  EXPECT_EQ(brings_->Answer("{")["failureReason"], "4");
  EXPECT_EQ(brings_->Answer("[]")["failureReason"], "4");
  EXPECT_EQ(Say(Message("insert", "", "https://share/person1")), "2:5");
  Json message = Message("insert", "ref", "https://share/person1");
  message.erase("requestId");
  EXPECT_EQ(Say(message), "2:6");
  EXPECT_EQ(Say(Message("insert", "ref", "https://share/nothing")), "2:7");
  EXPECT_EQ(Say(Message("insert", "ref")), "2:8");
  message = Message("ping", "");
  message.erase("requesttime");
  EXPECT_EQ(Say(message), "2:9");
  EXPECT_EQ(Say(Message("insert", "ref", "https://share/empty")), "2:11");
  message = Message("ping", "");
  message["version"] = "2.0";
  EXPECT_EQ(Say(message), "2:13");
  EXPECT_EQ(Say(Message("dance", "")), "2:14");
  message = Message("ping", "");
  message["requesttime"] = "yesterday";
  EXPECT_EQ(Say(message), "2:15");
  EXPECT_EQ(Say(Message("insert", "ref", "https://share/cbeff")), "2:16");
  EXPECT_EQ(Say(Message("insert", "ref", "https://share/expired")), "2:17");
  EXPECT_EQ(Say(Message("insert", "ref", "https://share/away")), "2:3");
  world_.decider().rejected = {"bad"};
  EXPECT_EQ(Say(Message("insert", "bad", "https://share/person1")), "2:18");
  world_.decider().away = true;
  EXPECT_EQ(Say(Message("identify", "ref", "https://share/person1")), "2:2");
}

}  // namespace
}  // namespace heft::service
