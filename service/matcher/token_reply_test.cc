// SPDX-License-Identifier: Apache-2.0
// Replies that a token (SoftHSM) signs: the store has no signing key.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <p11-kit/pkcs11.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "heft/gallery_admin.h"
#include "heft/trust.h"
#include "service/http/token_signer.h"
#include "service/matcher/testing.h"
#include "service/text.h"
#include "service/token_testing.h"

namespace heft::service {
namespace {

using ::testing::HasSubstr;
using testing::KeyMaterial;
using testing::MatcherWorld;
using testing::SoftToken;

// Puts a key into the token under `label`; returns its public half from OpenSSL.
std::array<uint8_t, 32> PutKey(const std::string& folder, const std::string& label,
                               const std::string& id) {
  EVP_PKEY* const key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  const std::string path = folder + "/" + label + ".pem";
  std::FILE* const file = std::fopen(path.c_str(), "w");
  EXPECT_EQ(PEM_write_PKCS8PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr), 1);
  std::fclose(file);
  std::array<uint8_t, 32> out;
  size_t size = out.size();
  EXPECT_EQ(EVP_PKEY_get_raw_public_key(key, out.data(), &size), 1);
  EVP_PKEY_free(key);
  SoftToken::Get().Import(path, label, id);
  return out;
}

TEST(TokenSignerTest, SignsAndSaysWhatIsWrong) {
  const heft::testing::TemporaryFolder folder;
  const auto public_key = PutKey(folder.path(), "edwards", "e1");
  const auto token = TokenSigner::Open(SoftToken::Get().Uri("edwards"));
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ((*token)->public_key(), public_key);
  const auto key = OutsideSigningKey((*token)->public_key(), [&](std::span<const uint8_t> message) {
    return (*token)->Sign(message);
  });
  ASSERT_TRUE(key.ok()) << key.status();
  const std::vector<uint8_t> file = experiment::RandomModel({40, 24}, 16, 3).Serialize();
  std::vector<std::thread> threads;  // a signature that is none would be an error
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n) {
        const auto done = key->Sign({.role = Role::kServer}, file);
        EXPECT_TRUE(done.ok()) << done.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(key->Save(folder / "copy").ok());
  const auto other = OutsideSigningKey(
      SignerKey{1}, [&](std::span<const uint8_t> message) { return (*token)->Sign(message); });
  EXPECT_EQ(other->Sign({.role = Role::kServer}, file).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(TokenSigner::Open(SoftToken::Get().Uri("nobody")).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(TokenSigner::Open("pkcs11:object=edwards").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TokenSigner::Open("pkcs11:token=a;object=b?module-path=/dev/null").status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// Polls `holds` for 20 seconds, as a missing token is tried again only after a pause.
bool Soon(const std::function<bool()>& holds) {
  for (int i = 0; i < 100; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return false;
}

// The token is pulled out while this object lives.
class TokenAway {
 public:
  TokenAway() { std::filesystem::rename(tokens_, tokens_ + "-away"); }
  ~TokenAway() { std::filesystem::rename(tokens_ + "-away", tokens_); }

 private:
  const std::string tokens_ = SoftToken::Get().tokens();
};

// Another user of the token's module in this process.
class Module {
 public:
  Module() {
    void* const library = dlopen("/usr/lib/softhsm/libsofthsm2.so", RTLD_NOW | RTLD_LOCAL);
    const auto list = reinterpret_cast<CK_C_GetFunctionList>(dlsym(library, "C_GetFunctionList"));
    EXPECT_EQ(list(&p11_), CKR_OK);
    CK_SLOT_ID slots[8];
    CK_ULONG count = 8;
    EXPECT_EQ(p11_->C_GetSlotList(CK_TRUE, slots, &count), CKR_OK);
    for (CK_ULONG i = 0; i < count; ++i) {
      CK_TOKEN_INFO info;
      EXPECT_EQ(p11_->C_GetTokenInfo(slots[i], &info), CKR_OK);
      if (std::string_view(reinterpret_cast<const char*>(info.label), 5) == "heft ") {
        slot_ = slots[i];
      }
    }
  }
  void ChangePin(std::string from, std::string to) const {
    CK_SESSION_HANDLE session;
    ASSERT_EQ(
        p11_->C_OpenSession(slot_, CKF_SERIAL_SESSION | CKF_RW_SESSION, nullptr, nullptr, &session),
        CKR_OK);
    EXPECT_EQ(p11_->C_SetPIN(session, reinterpret_cast<CK_UTF8CHAR*>(from.data()), from.size(),
                             reinterpret_cast<CK_UTF8CHAR*>(to.data()), to.size()),
              CKR_OK);
    p11_->C_CloseSession(session);
  }
  void EndSessions() const { EXPECT_EQ(p11_->C_CloseAllSessions(slot_), CKR_OK); }

 private:
  CK_FUNCTION_LIST* p11_ = nullptr;
  CK_SLOT_ID slot_ = 0;
};

TEST(TokenSignerTest, APinThatWasRefusedIsNotTriedAgain) {
  const heft::testing::TemporaryFolder folder;
  PutKey(folder.path(), "pinned", "e3");
  const auto token = TokenSigner::Open(SoftToken::Get().Uri("pinned"));
  ASSERT_TRUE(token.ok()) << token.status();
  const std::vector<uint8_t> message(32, 7);
  const Module module;
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1200)); };
  module.ChangePin("123456", "654321");
  module.EndSessions();
  EXPECT_EQ((*token)->Sign(message).status().code(), absl::StatusCode::kUnavailable);
  // The old PIN would be right again, but it is not tried.
  module.ChangePin("654321", "123456");
  pause();
  EXPECT_EQ((*token)->Sign(message).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE((*token)->Answers().ok());
  // A reload reads the file, and tries once.
  module.ChangePin("123456", "654321");
  ASSERT_TRUE(WriteFileAtomic(SoftToken::Get().pin(), std::string_view("654321"), 0600).ok());
  pause();
  EXPECT_FALSE((*token)->Sign(message).ok());
  const auto reload = (*token)->PrepareReload();
  ASSERT_TRUE(reload.ok()) << reload.status();
  (*reload)();
  EXPECT_TRUE((*token)->Sign(message).ok());
  EXPECT_TRUE((*token)->Answers().ok());
  module.ChangePin("654321", "123456");
  ASSERT_TRUE(WriteFileAtomic(SoftToken::Get().pin(), std::string_view("123456"), 0600).ok());
}

TEST(TokenReplyTest, ATokenThatIsAwayIsNoMissingGallery) {
  const heft::testing::TemporaryFolder folder;
  const KeyMaterial keys(folder.path() + "/a", 1);
  PutKey(folder.path(), "away", "e4");
  MatcherWorld world(keys, nullptr);
  world.config.signing_key = SoftToken::Get().Uri("away");
  world.Start();
  ASSERT_EQ(world.Enrol("ann", 1).status, 201);
  EXPECT_TRUE(world.state().Ready().ok());
  {
    const TokenAway away;
    const HttpResponse answer = world.Identify(1);
    EXPECT_EQ(answer.status, 503);
    const std::string text(answer.body.begin(), answer.body.end());
    EXPECT_THAT(text, HasSubstr("the signing key does not answer"));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("pkcs11")));
    EXPECT_EQ(world.state().Ready().code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_TRUE(Soon([&] { return world.state().Ready().ok(); }));
  EXPECT_EQ(MatcherWorld::JsonOf(world.Identify(1))["accepted"], true);
}

TEST(TokenReplyTest, TheStoreHasNoKeyThatSigns) {
  const heft::testing::TemporaryFolder folder;
  const KeyMaterial keys(folder.path() + "/a", 1);
  const auto public_key = PutKey(folder.path(), "replies", "e2");
  MatcherWorld world(keys, nullptr);
  world.config.signing_key = SoftToken::Get().Uri("replies");
  world.Start();
  EXPECT_FALSE(FileExists(world.config.store + "/server.key"));
  EXPECT_THAT(*ReadTextFile(world.config.store + "/server.pub"), HasSubstr(HexString(public_key)));
  // Admissions, replies and receipts: the key owner accepts only this key.
  ASSERT_EQ(world.Enrol("ann", 1).status, 201);
  EXPECT_EQ(MatcherWorld::JsonOf(world.Identify(1))["accepted"], true);
  ClientRequest remove;
  remove.method = "DELETE";
  remove.target = "/v1/persons/ann";
  const HttpResponse gone = world.Send("registrar", remove);
  ASSERT_EQ(gone.status / 100, 2);
  if (gone.status == 202) {
    EXPECT_EQ(world.Await("registrar", gone)["status"], "done");
  }
  const auto list =
      MatcherWorld::JsonOf(world.Get("auditor", "/v1/receipts?gallery=main"))["receipts"];
  ASSERT_EQ(list.size(), 1u);
  const auto receipt = DecodeBase64(list[0]["receipt"].get<std::string>());
  ASSERT_TRUE(receipt.ok()) << receipt.status();
  EXPECT_EQ(ReadSigned(*receipt, "receipt")->signer, public_key);
}

// A key in a file could sign as long as it is trusted, so the store may have only one key.
TEST(TokenReplyTest, AFileThatSignedBeforeIsNotLeftBesideTheToken) {
  const heft::testing::TemporaryFolder folder;
  const KeyMaterial keys(folder.path() + "/a", 1);
  PutKey(folder.path(), "instead", "e5");
  MatcherWorld world(keys, nullptr);
  world.Start();
  const std::string store = world.config.store, file = store + "/server.key";
  world.Stop();
  ASSERT_TRUE(FileExists(file));
  std::filesystem::copy_file(file, folder / "kept");
  Galleries galleries(store);
  ASSERT_TRUE(galleries.UseToken(SoftToken::Get().Uri("instead")).ok());
  EXPECT_EQ(galleries.Signer().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(galleries.Signer().status()), HasSubstr("server.key"));
  EXPECT_THAT(*ReadTextFile(store + "/server.pub"), HasSubstr(" server"));
  std::filesystem::remove(file);
  EXPECT_TRUE(galleries.Signer().ok());
  // Back to the file, as a process that does not know of the token.
  const std::string copy = folder / "copy";
  std::filesystem::copy(store, copy, std::filesystem::copy_options::recursive);
  std::filesystem::rename(folder / "kept", copy + "/server.key");
  EXPECT_EQ(GallerySigner(copy + ":main").status().code(), absl::StatusCode::kFailedPrecondition);
  std::filesystem::remove(copy + "/server.pub");
  EXPECT_TRUE(GallerySigner(copy + ":main").ok());
}

}  // namespace
}  // namespace heft::service
