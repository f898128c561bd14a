// SPDX-License-Identifier: Apache-2.0
// Signed requests and replies: what the key owner and the server refuse, and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/envelope.h"
#include "base/files.h"
#include "heft/server.h"
#include "owner/key_owner_impl.h"
#include "owner/testing.h"
#include "store/scheme.h"

namespace heft {
namespace {

using testing::Code;
using testing::EnrolDirectly;
using ::testing::HasSubstr;

class SignedRepliesTest : public testing::GalleryTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2}, {"ann", "bob"})).ok());
    const auto gallery = server_->OpenGallery(directory_, false);
    ASSERT_TRUE(gallery.ok());
    reply_ =
        SerializeScores(*instance_->context, *server_->Identify(*gallery, Set({1}, {"x"}), {}));
    ASSERT_TRUE(trust_.Add(Role::kServer, "matcher", signer_.public_key()).ok());
    ASSERT_TRUE(trust_.Add(Role::kClient, "camera", client_.public_key()).ok());
  }
  std::vector<uint8_t> Signed(const SignerKey& audience = {}, uint64_t life = kLife) const {
    return *SignReply(signer_, *Gallery::Open(directory_), {.client = client_.public_key()}, 0,
                      audience, reply_, life);
  }

  std::vector<uint8_t> reply_;
  const SigningKey signer_ = *SigningKey::Generate(), client_ = *SigningKey::Generate();
  Trust trust_;
};

TEST_F(SignedRepliesTest, AnOwnerWhoRequiresSignaturesTakesNothingElse) {
  EXPECT_TRUE(Owner().Open(reply_, "reply").ok()) << "nobody required any";
  EXPECT_TRUE(Owner().Open(Signed(), "reply").ok()) << "nor must one be in the way";
  KeyOwner owner = Owner();
  ASSERT_TRUE(owner.RequireSigned(trust_).ok());
  const auto opened = owner.Open(Signed(owner.Signer()->public_key()), "reply");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->candidates.at(0).identity, "ann");
  EXPECT_EQ(owner.Budget()->clients.at(0).client, client_.public_key()) << "who asked is charged";
  // Signed anew it is the same reply.
  EXPECT_THAT(owner.Open(Signed(owner.Signer()->public_key()), "reply").status().message(),
              HasSubstr("opened before"));
  const auto plain = owner.Decide(reply_, "reply", 0);
  EXPECT_EQ(Code(plain), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(plain.status().message(), HasSubstr("reply: not signed"));
  EXPECT_THAT(owner.Open(Signed(client_.public_key()), "reply").status().message(),
              HasSubstr("made for another"));
}

// A refused reply is not charged.
TEST_F(SignedRepliesTest, RefusedRepliesCostNothing) {
  KeyOwner owner = Owner();
  ASSERT_TRUE(owner.RequireSigned(trust_).ok());
  EXPECT_FALSE(owner.Open(reply_, "reply").ok());
  EXPECT_EQ(owner.Budget()->entries, 0u);
}

TEST_F(SignedRepliesTest, ARelabelledReplyIsRefused) {
  KeyOwner owner = Owner();
  ASSERT_TRUE(owner.RequireSigned(trust_).ok());
  std::vector<uint8_t> bytes = Signed();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t at = text.find("ann");
  ASSERT_LT(at, bytes.size() - 1);
  bytes[at + 1] = 'b';
  EXPECT_EQ(Code(owner.Open(bytes, "reply")), absl::StatusCode::kDataLoss);
  // All checksums made anew, as anybody can, and only the signature is left to tell.
  const auto good = ReadSigned(Signed(), "reply");
  std::vector<uint8_t> inner = reply_;
  inner[std::string_view(reinterpret_cast<const char*>(inner.data()), inner.size()).find("ann")] =
      'i';
  const std::vector<uint8_t> again =
      SealEnvelope("SCOR", EnvelopeVersion(inner),
                   ByteSpan(inner).subspan(kEnvelopeHeaderSize, inner.size() - kEnvelopeOverhead));
  const std::vector<uint8_t> whole = Signed();
  std::vector<uint8_t> payload(whole.begin() + kEnvelopeHeaderSize,
                               whole.end() - sizeof(Hash) - static_cast<long>(reply_.size()));
  payload.insert(payload.end(), again.begin(), again.end());
  const auto forged = owner.Open(SealEnvelope("SIGN", 1, payload), "reply");
  EXPECT_EQ(Code(forged), absl::StatusCode::kDataLoss);
  EXPECT_THAT(forged.status().message(), HasSubstr("signature is false"));
}

TEST_F(SignedRepliesTest, AServerHasOneKey) {
  const auto key = GallerySigner(directory_);
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(GallerySigner(directory_)->public_key(), key->public_key());
  const std::string text = *ReadTextFile(directory_ + "/server.pub");
  EXPECT_EQ(*ParseSignerKey(text), key->public_key());
  EXPECT_EQ(Code(GallerySigner(directory_ + "-none")), absl::StatusCode::kNotFound);
  EXPECT_FALSE(FileExists(directory_ + "-none"));
}

// A caller that is told that there is no gallery might make another.
TEST_F(SignedRepliesTest, AGalleryWhoseDatabaseIsAwayIsNotSaidToBeNone) {
  const testing::TemporaryFolder state;
  setenv("HEFT_STATE_DIR", state.path().c_str(), 1);
  RegisterScheme(kPostgresScheme,
                 [](const std::string&, const std::string&,
                    StoreMode) -> absl::StatusOr<std::shared_ptr<Store>> {
                   return absl::UnavailableError("it is away");
                 });
  EXPECT_EQ(Code(GallerySigner("postgres:away:people")), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(FileExists(state / "stores/postgres/away/server.key"));
  unsetenv("HEFT_STATE_DIR");
}

TEST_F(SignedRepliesTest, AGalleryKeepsItsId) {
  const GalleryId id = Gallery::Open(directory_)->id();
  EXPECT_NE(id, GalleryId{});
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({3}, {"cay"})).ok());
  EXPECT_EQ(Gallery::Open(directory_)->id(), id);
  ASSERT_TRUE(EnrolDirectly(*server_, directory_ + "-2", Set({3}, {"cay"})).ok());
  EXPECT_NE(Gallery::Open(directory_ + "-2")->id(), id);
}

TEST_F(SignedRepliesTest, RequestsAreSignedWhereClientsAreListed) {
  // What the files hold does not matter here, as long as they are HEFT's.
  const std::vector<uint8_t> sample = SealEnvelope("CTXT", 1, AsBytes("a"));
  const auto file = [&](const SigningKey* key, const SignerKey& audience = {}) -> SampleFile {
    if (key == nullptr) return {sample, "plain"};
    return {*key->Sign({.role = Role::kClient, .audience = audience, .expires = UnixTime() + kLife},
                       sample),
            "signed"};
  };
  const SignerKey server = signer_.public_key();
  const std::vector<SampleFile> plain = {file(nullptr)}, good = {file(&client_), file(&client_)};
  EXPECT_THAT(ReadRequest(plain, &trust_, server).status().message(), HasSubstr("not signed"));
  const auto request = ReadRequest(good, &trust_, server);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->client, client_.public_key());
  EXPECT_EQ(request->nonce, ReadSigned(good[0].bytes, "")->statement.nonce);
  const std::vector<SampleFile> half = {file(&client_), file(nullptr)};
  EXPECT_EQ(Code(ReadRequest(half, &trust_, server)), absl::StatusCode::kFailedPrecondition);
  const std::vector<SampleFile> other = {file(&client_, client_.public_key())};
  EXPECT_THAT(ReadRequest(other, &trust_, server).status().message(),
              HasSubstr("made for another"));
  // If no client is listed, plain requests are taken, but the signer of a signed one must still be
  // trusted.
  const Trust nobody;
  EXPECT_EQ(ReadRequest(plain, &nobody, server)->client, SignerKey{});
  EXPECT_EQ(Code(ReadRequest(good, &nobody, server)), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadRequest(good, nullptr, server)->client, SignerKey{}) << "nobody was asked";
}

TEST_F(SignedRepliesTest, ARequestIsOneClients) {
  const SigningKey second = *SigningKey::Generate();
  ASSERT_TRUE(trust_.Add(Role::kRegistrar, "desk", second.public_key()).ok());
  const std::vector<uint8_t> sample = SealEnvelope("CTXT", 1, AsBytes("a"));
  const uint64_t end = UnixTime() + kLife;
  const std::vector<SampleFile> files = {
      {*client_.Sign({.role = Role::kClient, .expires = end}, sample), "face"},
      {*second.Sign({.role = Role::kRegistrar, .expires = end}, sample), "voice"}};
  EXPECT_THAT(ReadRequest(files, &trust_, {}).status().message(),
              HasSubstr("voice: signed by another than the first file"));
}

// A server remembers a request for a day: one that is good for longer could be sent again when it
// is forgotten.
TEST_F(SignedRepliesTest, RequestsHaveAnEnd) {
  const std::vector<uint8_t> sample = SealEnvelope("CTXT", 1, AsBytes("a"));
  for (const uint64_t life : {uint64_t{0}, kLongestRequest + 2 * kClockSkew}) {
    const uint64_t end = life == 0 ? 0 : UnixTime() + life;
    const std::vector<SampleFile> files = {
        {*client_.Sign({.role = Role::kClient, .expires = end}, sample), "face"}};
    EXPECT_THAT(ReadRequest(files, &trust_, {}).status().message(),
                HasSubstr("good for longer than a server remembers"));
    EXPECT_TRUE(ReadRequest(files, nullptr, {}).ok()) << "nobody was asked";
  }
}

// A voice that was recorded does not become new beside another face.
TEST_F(SignedRepliesTest, EveryFileOfARequestIsRemembered) {
  const std::vector<uint8_t> sample = SealEnvelope("CTXT", 1, AsBytes("a"));
  const auto fresh = [&](const std::string& name) {
    return SampleFile{*client_.Sign({.role = Role::kClient, .expires = UnixTime() + kLife}, sample),
                      name};
  };
  const auto remember = [&](const std::vector<SampleFile>& files) {
    return RememberRequest(directory_, *ReadRequest(files, &trust_, {}), kAllRows);
  };
  const SampleFile face = fresh("face"), voice = fresh("voice");
  EXPECT_TRUE(remember({face, voice}).ok());
  const absl::Status again = remember({fresh("another"), voice});
  EXPECT_EQ(again.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(again.message(), HasSubstr("voice: this request was taken before"));
  EXPECT_TRUE(remember({fresh("another"), fresh("voice")}).ok());
  // An unsigned request is not recognised again.
  const std::vector<SampleFile> plain = {{sample, "plain"}};
  const Trust nobody;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(RememberRequest(directory_, *ReadRequest(plain, &nobody, {}), kAllRows).ok());
  }
}

}  // namespace
}  // namespace heft
