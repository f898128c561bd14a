// SPDX-License-Identifier: Apache-2.0
// Malicious or malformed requests: each is refused with a reason and changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "base/files.h"
#include "service/json.h"
#include "service/matcher/testing.h"

namespace heft::service {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::KeyMaterial;
using testing::MatcherWorld;

class HostileTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new heft::testing::TemporaryFolder;
    keys_ = new KeyMaterial(folder_->path() + "/a", 1);
    others_ = new KeyMaterial(folder_->path() + "/b", 1);
    records_ = new testing::Records("hostile");
  }
  static void TearDownTestSuite() {
    delete records_;
    delete others_;
    delete keys_;
    delete folder_;
  }
  void SetUp() override { world_ = std::make_unique<MatcherWorld>(*keys_, records_); }
  static std::string Text(const HttpResponse& response) {
    return {response.body.begin(), response.body.end()};
  }
  static Json JsonOf(const HttpResponse& response) { return MatcherWorld::JsonOf(response); }
  Json Encounter() const {
    Json data = Json::array();
    for (const auto& bytes : keys_->Sample(1)) {
      data.push_back({{"template", Base64(bytes)}, {"templateFormat", "heft-sample-1"}});
    }
    return {{"galleries", {"main"}}, {"biometricData", data}};
  }
  HttpResponse Enrol(const std::string& body) {
    return world_->SendJson("registrar", "POST", "/v1/persons/ann/encounters", body);
  }
  // Trust a client and a registrar, besides the key owner.
  void TrustSigners() {
    Trust trust = testing::Must(Trust::Load(keys_->files.trust));
    testing::Must(trust.Add(Role::kClient, "kiosk", client_.public_key()));
    testing::Must(trust.Add(Role::kRegistrar, "desk", registrar_.public_key()));
    world_->config.files.trust = world_->folder() / "trust.heft";
    testing::Must(trust.Save(world_->config.files.trust));
  }
  std::vector<std::vector<uint8_t>> Signed(const SigningKey& key, uint64_t person,
                                           uint64_t life = 600) const {
    std::vector<std::vector<uint8_t>> out;
    for (const auto& bytes : keys_->Sample(person)) {
      Statement statement;
      statement.role = &key == &registrar_ ? Role::kRegistrar : Role::kClient;
      statement.expires = UnixTime() + life;
      out.push_back(testing::Must(key.Sign(statement, bytes)));
    }
    return out;
  }

  inline static heft::testing::TemporaryFolder* folder_ = nullptr;
  inline static KeyMaterial *keys_ = nullptr, *others_ = nullptr;
  inline static testing::Records* records_ = nullptr;
  const SigningKey client_ = testing::Must(SigningKey::Generate());
  const SigningKey registrar_ = testing::Must(SigningKey::Generate());
  std::unique_ptr<MatcherWorld> world_;
};

TEST_F(HostileTest, NoNameLeavesTheStore) {
  world_->Start();
  // The signed state is written after the enrolments of the world are answered.
  const std::string last = absl::StrCat(world_->folder().path(), "/store/other.state.heft");
  for (int i = 0; i < 1000 && !std::filesystem::exists(last); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::set<std::string> before;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(world_->folder().path())) {
    before.insert(entry.path());
  }
  for (const char* name :
       {"..", "%2e%2e", "..%2f..%2fetc", "%2fetc%2fpasswd", "main%2f..%2f..", "main:other", "MAIN",
        "ma%20in", "-main", ".hidden", "m%00n",
        "a23456789012345678901234567890123456789012345678901234567890123456789"}) {
    const std::string gallery = absl::StrCat("/v1/galleries/", name);
    EXPECT_THAT(world_->Get("operator", gallery).status, AnyOf(400, 404)) << name;
    EXPECT_THAT(world_->Get("operator", gallery + "/stats").status, AnyOf(400, 404)) << name;
    EXPECT_THAT(world_->Get("machine", gallery + "/admission").status, AnyOf(400, 404)) << name;
    EXPECT_THAT(world_->Identify(1, "*/*", "client", name).status, AnyOf(400, 404)) << name;
    EXPECT_THAT(world_->Get("auditor", absl::StrCat("/v1/receipts?gallery=", name)).status,
                AnyOf(400, 404))
        << name;
    ClientRequest make;
    make.method = "POST";
    make.target = gallery + "/snapshot";
    EXPECT_THAT(world_->Send("operator", make).status, AnyOf(400, 404)) << name;
  }
  for (const char* name : {"../evil", "/tmp/evil", "", "a:b", "a/b", "A"}) {
    EXPECT_EQ(world_->SendJson("operator", "POST", "/v1/galleries", Json{{"gallery", name}}.dump())
                  .status,
              400)
        << name;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(world_->folder().path())) {
    EXPECT_TRUE(before.contains(entry.path())) << entry.path();
  }
}

TEST_F(HostileTest, BodiesThatMakeNoSenseAreRefused) {
  world_->Start();
  const std::string good = Encounter().dump();
  std::vector<std::string> bad = {
      "",
      "{",
      "[]",
      "null",
      "\"text\"",
      "{}",
      R"({"galleries": ["main"]})",
      R"({"galleries": ["main"], "biometricData": []})",
      R"({"galleries": ["main"], "biometricData": [1]})",
      R"({"galleries": ["main"], "galleries": ["other"], "biometricData": []})",
      std::string(100000, '['),
      good.substr(0, good.size() / 2)};
  const auto with = [&](const std::function<void(Json*)>& change) {
    Json body = Encounter();
    change(&body);
    bad.push_back(body.dump());
  };
  with([](Json* b) { (*b)["galleries"] = Json::array(); });
  with([](Json* b) { (*b)["galleries"] = {"main", "main"}; });
  with([](Json* b) { (*b)["galleries"] = "main"; });
  with([](Json* b) { (*b)["surprise"] = 1; });
  with([](Json* b) { (*b)["expires"] = -1; });
  with([](Json* b) { (*b)["expires"] = "2001-09-09T01:46:40Z"; });
  with([](Json* b) { (*b)["expires"] = "soon"; });
  with([](Json* b) { (*b)["average"] = "yes"; });
  with([](Json* b) { (*b)["metadata"] = {{"Upper", "case"}}; });
  with([](Json* b) { (*b)["metadata"] = {{"heft.encounter", "mine"}}; });
  with([](Json* b) { (*b)["authorisation"] = "!!!"; });
  with([](Json* b) { (*b)["biometricData"][0]["template"] = "not base64!"; });
  with([](Json* b) { (*b)["biometricData"][0]["template"] = "QUJD"; });
  with([](Json* b) { (*b)["biometricData"][0]["template"] = 7; });
  with([](Json* b) { (*b)["biometricData"][0]["templateFormat"] = "ISO_19794_2"; });
  with([](Json* b) { (*b)["biometricData"][0]["image"] = "x"; });
  with([](Json* b) { (*b)["biometricData"][1] = (*b)["biometricData"][0]; });
  for (const std::string& body : bad) {
    const HttpResponse refused = Enrol(body);
    EXPECT_EQ(refused.status, 400) << body.substr(0, 100) << ": " << Text(refused);
  }
  EXPECT_EQ(JsonOf(world_->Get("operator", "/v1/galleries/main"))["pending"], 0);
  // The same as forms.
  for (const auto& [type, text] : std::map<std::string, std::string>{
           {"multipart/form-data", "x"},
           {"multipart/form-data; boundary=b", "--b\r\n\r\nx\r\n--b--"},
           {"multipart/form-data; boundary=c", "--b\r\n"},
           {"text/plain", good},
           {"application/xml", "<a/>"}}) {
    ClientRequest request;
    request.method = "POST";
    request.target = "/v1/identify/main";
    request.content_type = type;
    request.body.assign(text.begin(), text.end());
    EXPECT_EQ(world_->Send("client", request).status, 400) << type;
  }
  EXPECT_EQ(world_->Enrol("ann", 1).status, 201) << "and the right one is taken";
}

TEST_F(HostileTest, WhatIsTooLargeIsNotRead) {
  world_->config.sample_bytes = 1 << 20;
  world_->Start();
  ClientRequest request =
      MatcherWorld::Form("POST", "/v1/identify/main", {std::vector<uint8_t>((1 << 20) + 1)});
  EXPECT_EQ(world_->Send("client", request).status, 413);
  request = MatcherWorld::Form("POST", "/v1/identify/main",
                               std::vector<std::vector<uint8_t>>(9, std::vector<uint8_t>(10)));
  const HttpResponse refused = world_->Send("client", request);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(Text(refused), HasSubstr("more than 8 templates"));
}

TEST_F(HostileTest, SamplesOfAnotherKeyAreRefused) {
  world_->Start();
  ASSERT_EQ(world_->Enrol("ann", 1).status, 201);
  const auto foreign = others_->Sample(1);
  EXPECT_EQ(world_->Send("client", MatcherWorld::Form("POST", "/v1/identify/main", foreign)).status,
            409);
  EXPECT_EQ(
      world_->Send("client", MatcherWorld::Form("POST", "/v1/verify/main/ann", foreign)).status,
      409);
  EXPECT_EQ(world_
                ->Send("registrar", MatcherWorld::Form("POST", "/v1/persons/bob/encounters",
                                                       foreign, {{"galleries", {"main"}}}))
                .status,
            409);
  // One flipped bit is refused, too.
  auto flipped = keys_->Sample(1);
  flipped[0][flipped[0].size() / 2] ^= 1;
  EXPECT_EQ(world_->Send("client", MatcherWorld::Form("POST", "/v1/identify/main", flipped)).status,
            400);
}

TEST_F(HostileTest, SignedSamplesAreTakenOnce) {
  TrustSigners();
  world_->Start();
  const HttpResponse unsigned_ = world_->Enrol("ann", 1);
  EXPECT_EQ(unsigned_.status, 409) << Text(unsigned_);
  const HttpResponse enrolled = world_->Send(
      "registrar", MatcherWorld::Form("POST", "/v1/persons/ann/encounters?wait=60",
                                      Signed(registrar_, 1), {{"galleries", {"main"}}}));
  ASSERT_EQ(enrolled.status, 201) << Text(enrolled);
  const ClientRequest probe = MatcherWorld::Form("POST", "/v1/identify/main", Signed(client_, 1));
  EXPECT_EQ(JsonOf(world_->Send("client", probe))["accepted"], true);
  const HttpResponse again = world_->Send("client", probe);
  EXPECT_EQ(again.status, 409);
  EXPECT_THAT(Text(again), HasSubstr("taken before"));
  ClientRequest verify = probe;
  verify.target = "/v1/verify/main/ann";
  EXPECT_EQ(world_->Send("client", verify).status, 409) << "nor for another question";
  // A signature of an unknown key, and one that is valid for too long.
  const SigningKey stranger = testing::Must(SigningKey::Generate());
  EXPECT_EQ(
      world_->Send("client", MatcherWorld::Form("POST", "/v1/identify/main", Signed(stranger, 1)))
          .status,
      409);
  EXPECT_EQ(world_
                ->Send("client",
                       MatcherWorld::Form("POST", "/v1/identify/main", Signed(client_, 1, 1 << 30)))
                .status,
            409);
}

// After a failure the same caller may repeat the same request, and no other.
TEST_F(HostileTest, ASignedEnrolmentThatFailedMayBeAskedForAgain) {
  TrustSigners();
  SetWriterWait(1);
  world_->Start();
  const auto files = Signed(registrar_, 1);
  ClientRequest request = MatcherWorld::Form("POST", "/v1/persons/ann/encounters?wait=60", files,
                                             {{"galleries", {"main"}}});
  request.headers.emplace_back("Idempotency-Key", "first");
  {
    const auto lock = testing::Must(FileLock::Take(world_->config.store + "/lock", 0600));
    const HttpResponse failed = world_->Send("registrar", request);
    ASSERT_EQ(failed.status, 503) << Text(failed);
  }
  SetWriterWait(60);
  world_->Stop();
  world_->Start();
  // With another key, for another person, or for another operation.
  ClientRequest other = request;
  other.headers = {{"Idempotency-Key", "second"}};
  EXPECT_EQ(world_->Send("registrar", other).status, 409);
  other = request;
  other.target = "/v1/persons/bob/encounters";
  EXPECT_EQ(world_->Send("registrar", other).status, 409);
  EXPECT_EQ(world_->Send("client", MatcherWorld::Form("POST", "/v1/identify/main", files)).status,
            409);
  const HttpResponse enrolled = world_->Send("registrar", request);
  ASSERT_EQ(enrolled.status, 201) << Text(enrolled);
  EXPECT_EQ(JsonOf(enrolled)["others"]["status"], "active");
  EXPECT_EQ(JsonOf(world_->Send("registrar", request))["others"]["galleries"][0]["repeated"], true);
  const auto table = OnceTable::Of(absl::StrCat(world_->config.state, "/", std::string(kOnceFile)));
  EXPECT_EQ(*table->Count({.name = "enrolments"}), 0u);
}

TEST_F(HostileTest, OnlyRegistrarsTouchWhoIsThere) {
  TrustSigners();
  world_->Start();
  const auto bring = [&](const std::string& method, uint64_t person,
                         const std::vector<uint8_t>& authorisation) {
    return world_->Send(
        "registrar",
        MatcherWorld::Form(method, "/v1/persons/ann/encounters?wait=60", Signed(registrar_, person),
                           {{"galleries", {"main"}}}, authorisation));
  };
  ASSERT_EQ(bring("POST", 1, {}).status, 201);
  EXPECT_EQ(bring("POST", 2, {}).status, 409);
  EXPECT_EQ(bring("PUT", 2, {}).status, 409);
  const std::string id = JsonOf(world_->Get("operator", "/v1/galleries/main"))["gallery_id"];
  const GalleryId gallery = *ParseGalleryId(id);
  EXPECT_EQ(bring("PUT", 2, *Authorise(client_, gallery, AuthorisedAct::kReplace, "ann")).status,
            409);
  EXPECT_EQ(bring("PUT", 2, *Authorise(registrar_, gallery, AuthorisedAct::kReplace, "bob")).status,
            409);
  // An authorisation to add does not permit to replace: the old template would stay.
  EXPECT_EQ(bring("PUT", 2, *Authorise(registrar_, gallery, AuthorisedAct::kAdd, "ann")).status,
            409);
  const HttpResponse replaced =
      bring("PUT", 2, *Authorise(registrar_, gallery, AuthorisedAct::kReplace, "ann"));
  ASSERT_EQ(replaced.status, 200) << Text(replaced);
  EXPECT_EQ(JsonOf(replaced)["others"]["status"], "active");
  const auto decided = [&](uint64_t person) {
    return JsonOf(world_->Send("client", MatcherWorld::Form("POST", "/v1/identify/main",
                                                            Signed(client_, person))))["accepted"];
  };
  EXPECT_EQ(decided(1), false);
  EXPECT_EQ(decided(2), true);
  ClientRequest remove;
  remove.method = "DELETE";
  remove.target = "/v1/persons/ann";
  EXPECT_EQ(world_->Send("registrar", remove).status, 409);
  remove.body = *Authorise(registrar_, gallery, AuthorisedAct::kRemove, "ann");
  remove.content_type = std::string(kHeftType);
  EXPECT_EQ(world_->Send("registrar", remove).status, 200);
  EXPECT_EQ(decided(2), false);
}

TEST_F(HostileTest, NobodyIsCalledWhoIsNotListed) {
  world_->Start();
  ClientRequest request = MatcherWorld::Form(
      "POST", "/v1/identify/main?callback=https://169.254.169.254/", keys_->Sample(1));
  EXPECT_EQ(world_->Send("client", request).status, 400);
  const auto callbacks = testing::Must(Callbacks::Create(
      {"https://localhost:1"},
      testing::Must(TlsContext::ForClient(world_->service().ca().Issue("matcher")))));
  EXPECT_TRUE(callbacks->Check("https://localhost:1/told?x=y").ok());
  EXPECT_TRUE(callbacks->Check("https://localhost:1").ok());
  for (const char* url :
       {"https://localhost:2/", "http://localhost:1/", "https://localhost:1.evil/",
        "https://localhost:1@evil/", "https://user@localhost:1/", "file:///etc",
        "https://localhost:1/a b", "https://localhost:1/\r\nX: y", "https://localhost:1/#x",
        "https://LOCALHOST:1/", ""}) {
    EXPECT_FALSE(callbacks->Check(url).ok()) << url;
  }
}

TEST_F(HostileTest, NumbersAndNamesAreBounded) {
  world_->Start();
  for (const char* query : {"count=-1", "count=1001", "count=x", "cursor=-1",
                            "cursor=99999999999999999999", "where=nonsense", "where=A=b"}) {
    EXPECT_EQ(world_->Get("operator", absl::StrCat("/v1/persons?gallery=main&", query)).status, 400)
        << query;
  }
  EXPECT_EQ(world_->Get("operator", "/v1/persons").status, 400);
  EXPECT_EQ(world_->Get("operator", "/v1/persons?gallery=main&cursor=4294967296").status, 200);
  for (const std::string& name :
       {std::string(256, 'a'), std::string("a%E2%80%AEb"), std::string("%FF")}) {
    EXPECT_EQ(world_->Get("operator", "/v1/persons/" + name).status, 400) << name;
    EXPECT_EQ(world_->Enrol(name, 1).status, 400) << name;
  }
  EXPECT_EQ(world_->Get("client", "/v1/nothing").status, 404);
}

}  // namespace
}  // namespace heft::service
