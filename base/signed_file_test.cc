// SPDX-License-Identifier: Apache-2.0
#include "base/signed_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/signing.h"
#include "base/testing.h"

namespace heft {
namespace {

using ::testing::HasSubstr;
constexpr uint64_t kSigningTime = 2'000'000'000;

std::vector<uint8_t> FromHex(const char* text) {
  const std::string bytes = absl::HexStringToBytes(text);
  return {bytes.begin(), bytes.end()};
}

std::vector<uint8_t> File() { return SealEnvelope("TEST", 1, AsBytes("what is signed")); }

SigningKey KeyOf(uint8_t seed) {
  return *SigningKeyOfSeed(std::vector<uint8_t>(kSigningSeedSize, seed));
}

// A trusted server, and a client.
class SignedFileTest : public ::testing::Test {
 protected:
  SignedFileTest() {
    EXPECT_TRUE(trust_.Add(Role::kServer, "matcher", server_.public_key()).ok());
    EXPECT_TRUE(trust_.Add(Role::kClient, "camera", client_.public_key()).ok());
  }
  Statement Good() const {
    return {.role = Role::kServer,
            .generation = 7,
            .issued = kSigningTime - 60,
            .expires = kSigningTime + 60};
  }
  Expected Demands() const {
    return {.roles = {Role::kServer}, .kind = "TEST", .now = kSigningTime};
  }
  // Why a file with this statement is refused; empty if it is accepted.
  std::string Why(const Statement& statement, const Expected& expected) const {
    return Why(server_, statement, expected);
  }
  std::string Why(const SigningKey& key, const Statement& statement,
                  const Expected& expected) const {
    const std::vector<uint8_t> bytes = *key.Sign(statement, File());
    const auto file = OpenSigned(bytes, trust_, expected, "reply.ct");
    // The head alone says the same.
    const auto head = HeadOf(bytes, "reply.ct");
    EXPECT_EQ(OpenSignedHead(*head, "TEST", trust_, expected, "reply.ct").status(), file.status());
    if (file.ok()) return "";
    EXPECT_EQ(file.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(file.status().message(), HasSubstr("reply.ct: "));
    return std::string(file.status().message());
  }

  SigningKey server_ = KeyOf(1), client_ = KeyOf(2), stranger_ = KeyOf(3);
  Trust trust_;
};

// RFC 8032, section 7.1, tests 1 and 2.
TEST(SigningTest, KnownAnswers) {
  const struct {
    const char *seed, *key, *message, *signature;
  } answers[] = {{"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                  "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
                  "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac"
                  "c61e39701cf9"
                  "b46bd25bf5f0595bbe24655141438e7a100b"},
                 {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                  "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
                  "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e"
                  "458f3613d0f1"
                  "1d8c387b2eaeb4302aeeb00d291612bb0c00"}};
  for (const auto& answer : answers) {
    const auto key = SigningKey::Impl::FromSeed(FromHex(answer.seed));
    ASSERT_TRUE(key.ok());
    EXPECT_EQ(HexString((*key)->public_key()), answer.key);
    const Signature signature = *(*key)->Sign(FromHex(answer.message));
    EXPECT_EQ(HexString(signature), answer.signature);
    EXPECT_TRUE(SignatureIsGood((*key)->public_key(), FromHex(answer.message), signature));
    EXPECT_FALSE(SignatureIsGood((*key)->public_key(), AsBytes("x"), signature));
  }
}

TEST(SigningTest, KeyFiles) {
  const testing::TemporaryFolder folder;
  const auto key = SigningKey::Generate();
  ASSERT_TRUE(key.ok());
  const auto word = [](const char* text) {
    return [text]() -> absl::StatusOr<std::string> { return text; };
  };
  const std::string clear = folder / "clear.key", sealed = folder / "sealed.key";
  ASSERT_TRUE(key->Save(clear).ok());
  EXPECT_EQ(key->Save(clear).code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(key->Save(sealed, word("open sesame")).ok());
  EXPECT_EQ(SigningKey::Load(clear)->public_key(), key->public_key());
  EXPECT_EQ(SigningKey::Load(sealed, word("open sesame"))->public_key(), key->public_key());
  EXPECT_EQ(SigningKey::Load(sealed, word("a guess")).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SigningKey::Load(sealed).status().code(), absl::StatusCode::kFailedPrecondition);
  struct stat info;
  ASSERT_EQ(stat(clear.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(chmod(clear.c_str(), 0644), 0);
  EXPECT_EQ(SigningKey::Load(clear).status().code(), absl::StatusCode::kFailedPrecondition);
}

// Signing while writing gives the same file as Sign.
TEST_F(SignedFileTest, SignsWhatIsWritten) {
  Statement statement = Good();
  statement.nonce = {1, 2, 3};
  const auto written = [&](std::string_view kind) {
    return SignWritten(server_, statement, 0, [&](ByteWriter& writer) {
      const size_t start = BeginEnvelope(kind, 1, &writer);
      writer.Raw(AsBytes("what is signed"));
      return EndEnvelope(start, &writer);
    });
  };
  ASSERT_TRUE(written("TEST").ok());
  EXPECT_EQ(*written("TEST"), *server_.Sign(statement, File()));
  EXPECT_EQ(written(kSignedKind).status(), server_.Sign(statement, *written("TEST")).status());
  const auto none = SignWritten(server_, statement, 0, [](ByteWriter&) { return Hash{}; });
  EXPECT_EQ(none.status(), server_.Sign(statement, {}).status());
}

TEST_F(SignedFileTest, OpensWhatItShould) {
  Statement statement = Good();
  statement.subject = client_.public_key();
  const std::vector<uint8_t> bytes = *server_.Sign(statement, File());
  EXPECT_TRUE(IsSigned(bytes));
  const auto opened = OpenSigned(bytes, trust_, Demands(), "file");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(std::ranges::equal(opened->file, File()));
  EXPECT_EQ(opened->signer_name, "matcher");
  EXPECT_EQ(opened->signer, server_.public_key());
  EXPECT_EQ(opened->statement.kind, "TEST");
  EXPECT_EQ(opened->statement.subject, client_.public_key());
  EXPECT_EQ(opened->statement.generation, 7u);
  EXPECT_NE(opened->statement.nonce, decltype(statement.nonce){});
  EXPECT_TRUE(std::ranges::equal(*Unsigned(bytes, "file"), File()));
  EXPECT_TRUE(std::ranges::equal(*Unsigned(File(), "file"), File()));
}

TEST_F(SignedFileTest, EveryFlippedByteAndTruncationIsRefused) {
  const std::vector<uint8_t> good = *server_.Sign(Good(), File());
  for (size_t i = 0; i < good.size(); ++i) {
    std::vector<uint8_t> bytes = good;
    bytes[i] ^= 0x20;
    EXPECT_FALSE(OpenSigned(bytes, trust_, Demands(), "file").ok()) << i;
    EXPECT_FALSE(OpenSigned(ByteSpan(good).first(i), trust_, Demands(), "file").ok()) << i;
    // Inside the checksum, which anybody can compute.
    if (i < kEnvelopeHeaderSize || i >= good.size() - sizeof(Hash)) continue;
    const auto payload =
        ByteSpan(bytes).subspan(kEnvelopeHeaderSize, good.size() - kEnvelopeOverhead);
    EXPECT_FALSE(OpenSigned(SealEnvelope(kSignedKind, 1, payload), trust_, Demands(), "file").ok())
        << i;
  }
}

TEST_F(SignedFileTest, RefusesWithTheReason) {
  const auto plain = OpenSigned(File(), trust_, Demands(), "file");
  EXPECT_EQ(plain.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(plain.status().message(), HasSubstr("not signed"));
  EXPECT_EQ(OpenSigned({}, trust_, Demands(), "file").status().code(), absl::StatusCode::kDataLoss);

  EXPECT_EQ(Why(Good(), Demands()), "");
  EXPECT_THAT(Why(stranger_, Good(), Demands()), HasSubstr("unknown server"));
  EXPECT_THAT(Why(client_, Good(), Demands()),
              HasSubstr("\"camera\", which the trust file lists as client"));
  Statement other = Good();
  other.role = Role::kClient;
  EXPECT_THAT(Why(client_, other, Demands()), HasSubstr("signed by a client"));
  Expected expected = Demands();
  expected.kind = "SCOR";
  EXPECT_THAT(Why(Good(), expected), HasSubstr("unknown kind TEST, not encrypted scores"));
  ASSERT_TRUE(trust_.Revoke(server_.public_key()).ok());
  EXPECT_THAT(Why(Good(), Demands()), HasSubstr("revokes"));
}

TEST_F(SignedFileTest, AnAudienceIsKeptTo) {
  Statement statement = Good();
  statement.audience = client_.public_key();
  Expected expected = Demands();
  EXPECT_THAT(Why(statement, expected), HasSubstr("made for another"));
  expected.audience = stranger_.public_key();
  EXPECT_THAT(Why(statement, expected), HasSubstr("made for another"));
  EXPECT_EQ(Why(Good(), expected), "");
  expected.audience = client_.public_key();
  EXPECT_EQ(Why(statement, expected), "");
}

TEST_F(SignedFileTest, TimesAreKeptTo) {
  Expected expected = Demands();
  expected.now = Good().expires;
  EXPECT_EQ(Why(Good(), expected), "");
  ++expected.now;
  EXPECT_THAT(Why(Good(), expected), HasSubstr("expired at 2033-05-18 03:34:20 UTC"));
  expected.now = Good().issued - kClockSkew;
  EXPECT_EQ(Why(Good(), expected), "");
  --expected.now;
  EXPECT_THAT(Why(Good(), expected), HasSubstr("future"));
  Statement endless = Good();
  endless.expires = 0;
  expected.now = UINT64_MAX;
  EXPECT_EQ(Why(endless, expected), "");
}

TEST_F(SignedFileTest, GalleriesAreKeptTo) {
  const GalleryId one = {1}, two = {2};
  Statement statement = Good();
  statement.gallery = one;
  Expected expected = Demands();
  expected.gallery = two;
  EXPECT_THAT(Why(statement, expected), HasSubstr("another gallery"));
  expected.gallery = one;
  EXPECT_EQ(Why(statement, expected), "");
  expected.min_generation = 8;
  EXPECT_THAT(Why(statement, expected), HasSubstr("generation 7"));

  trust_.Pin(two);
  EXPECT_THAT(Why(statement, Demands()), HasSubstr("another gallery"));
  trust_.Pin(one, 8);
  EXPECT_THAT(Why(statement, Demands()), HasSubstr("older than 8"));
  trust_.Pin(one, 7);
  EXPECT_EQ(Why(statement, Demands()), "");
}

TEST_F(SignedFileTest, SignsOnceAndHeftFilesOnly) {
  EXPECT_EQ(server_.Sign(Good(), AsBytes("text")).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(server_.Sign(Good(), *server_.Sign(Good(), File())).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RequestDigestTest, BindsFilesAndRowInAnyOrder) {
  const std::vector<uint8_t> a = {1}, b = {2};
  const std::vector<ByteSpan> ab = {a, b}, ba = {b, a}, one = {a};
  EXPECT_EQ(FilesDigest(ab), FilesDigest(ba));
  EXPECT_NE(FilesDigest(ab), FilesDigest(one));
  EXPECT_NE(RequestDigest(FilesDigest(ab), 3), RequestDigest(FilesDigest(ab), 4));
  EXPECT_NE(RequestDigest(FilesDigest(ab), 3), RequestDigest(FilesDigest(one), 3));
}

TEST_F(SignedFileTest, AHeadStandsForItsFileAndNoOther) {
  const std::vector<uint8_t> bytes = *server_.Sign(Good(), File());
  auto head = HeadOf(bytes, "reply.ct");
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->bytes.size(), kSignedHeadSize);
  EXPECT_EQ(head->file, HashBytes(File()));
  const auto open = [&](std::string_view kind) {
    return OpenSignedHead(*head, kind, trust_, Demands(), "reply.ct");
  };
  const auto whole = OpenSigned(bytes, trust_, Demands(), "reply.ct");
  ASSERT_TRUE(open("TEST").ok());
  EXPECT_EQ(open("TEST")->signer, server_.public_key());
  EXPECT_EQ(open("TEST")->signer_name, whole->signer_name);
  EXPECT_EQ(open("TEST")->statement.nonce, whole->statement.nonce);
  EXPECT_EQ(open("OTHR").status().code(), absl::StatusCode::kDataLoss);
  for (size_t i = 0; i < kSignedHeadSize; ++i) {
    head->bytes[i] ^= 1;
    EXPECT_FALSE(open("TEST").ok()) << i;
    head->bytes[i] ^= 1;
  }
  head->file[0] ^= 1;  // another file
  EXPECT_EQ(open("TEST").status().code(), absl::StatusCode::kDataLoss);
  head->file[0] ^= 1;
  head->bytes.pop_back();
  EXPECT_EQ(open("TEST").status().code(), absl::StatusCode::kDataLoss);

  const auto unsigned_head = HeadOf(File(), "reply.ct");
  EXPECT_TRUE(unsigned_head->bytes.empty());
  EXPECT_EQ(unsigned_head->file, HashBytes(File()));
  EXPECT_EQ(OpenSignedHead(*unsigned_head, "TEST", trust_, Demands(), "reply.ct").status(),
            OpenSigned(File(), trust_, Demands(), "reply.ct").status());
  std::vector<uint8_t> damaged = bytes;
  damaged[100] ^= 1;
  EXPECT_EQ(HeadOf(damaged, "reply.ct").status().code(), absl::StatusCode::kDataLoss);
}

// A service finds its answer to a file again by this digest.
TEST_F(SignedFileTest, AClaimIsKnownByItsHead) {
  const std::vector<uint8_t> bytes = *server_.Sign(Good(), File());
  const auto claimed = ReadClaimed(bytes, "reply.ct");
  ASSERT_TRUE(claimed.ok()) << claimed.status();
  EXPECT_EQ(claimed->statement.generation, 7u);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<uint8_t> changed = bytes;
    changed[i] ^= 1;
    const auto other = ReadClaimed(changed, "reply.ct");
    const size_t head = i - kEnvelopeHeaderSize;  // wraps around before it
    if (i < kEnvelopeHeaderSize) {
      EXPECT_FALSE(other.ok()) << i;
    } else if (head < kSignedHeadSize) {
      EXPECT_TRUE(!other.ok() || other->digest != claimed->digest) << i;
    } else {
      EXPECT_TRUE(!other.ok() || other->digest == claimed->digest) << i;
      EXPECT_TRUE(other.ok() || i < bytes.size() - sizeof(Hash)) << "the checksum, " << i;
    }
  }
  const auto code = [](ByteSpan file) { return ReadClaimed(file, "reply.ct").status().code(); };
  EXPECT_EQ(code(File()), absl::StatusCode::kFailedPrecondition);
  for (const size_t size : {size_t{0}, size_t{10}, kEnvelopeHeaderSize + 100, bytes.size() - 1}) {
    EXPECT_EQ(code(ByteSpan(bytes).first(size)), absl::StatusCode::kDataLoss) << size;
  }
}

TEST_F(SignedFileTest, TheSignatureCoversTheFileInIt) {
  const std::vector<uint8_t> bytes = *server_.Sign(Good(), File());
  Hash hash{};
  const auto opened = OpenBySignature(bytes, trust_, Demands(), "reply.ct", &hash);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(hash, HashBytes(File()));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<uint8_t> changed = bytes;
    changed[i] ^= 1;
    const auto other = OpenBySignature(changed, trust_, Demands(), "reply.ct", &hash);
    // The checksum at the end is not signed.
    EXPECT_EQ(other.ok(), i >= bytes.size() - sizeof(Hash)) << i;
  }
}

}  // namespace
}  // namespace heft
