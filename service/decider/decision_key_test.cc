// SPDX-License-Identifier: Apache-2.0
#include "service/decider/decision_key.h"

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sys/stat.h>

#include "base/testing.h"
#include "service/access/jwt.h"
#include "service/token_testing.h"

namespace heft::service {
namespace {

constexpr char kType[] = "heft-decision+jwt";

class DecisionKeyTest : public ::testing::Test {
 protected:
  // The paths of a new key, and of its public half.
  std::pair<std::string, std::string> Make(const std::string& name, EVP_PKEY* key) const {
    const std::string path = folder_ / (name + ".key"), open = folder_ / (name + ".pem");
    std::FILE* file = std::fopen(path.c_str(), "w");
    EXPECT_EQ(PEM_write_PKCS8PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr), 1);
    std::fclose(file);
    chmod(path.c_str(), 0600);
    file = std::fopen(open.c_str(), "w");
    EXPECT_EQ(PEM_write_PUBKEY(file, key), 1);
    std::fclose(file);
    EVP_PKEY_free(key);
    return {path, open};
  }
  static EVP_PKEY* Ed25519() { return EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"); }
  // Checks that a signature verifies with the key set.
  static void Check(const DecisionKey& signer, const DecisionKey& shown) {
    const auto jws = signer.Sign({{"decision", "accept"}});
    ASSERT_TRUE(jws.ok()) << jws.status();
    const auto keys = KeySet::Parse(shown.jwks().dump(), "keys");
    ASSERT_TRUE(keys.ok()) << keys.status();
    const auto claims = VerifyJws(*jws, *keys, kType);
    ASSERT_TRUE(claims.ok()) << claims.status();
    EXPECT_EQ((*claims)["decision"], "accept");
    EXPECT_FALSE(VerifyJws(*jws, *keys).ok()) << "a decision is no token";
  }
  const heft::testing::TemporaryFolder folder_;
};

TEST_F(DecisionKeyTest, SignsWithEitherKindOfKey) {
  const auto [edwards, edwards_public] = Make("edwards", Ed25519());
  const auto [curve, curve_public] = Make("curve", EVP_EC_gen("P-256"));
  const auto ed25519 = DecisionKey::Load(edwards);
  ASSERT_TRUE(ed25519.ok()) << ed25519.status();
  Check(*ed25519, *ed25519);
  EXPECT_EQ(ed25519->jwks()["keys"][0]["kid"], ed25519->id());
  const auto p256 = DecisionKey::Load(curve);
  ASSERT_TRUE(p256.ok()) << p256.status();
  Check(*p256, *p256);
  EXPECT_EQ(DecisionKey::Load(Make("rsa", EVP_RSA_gen(2048)).first).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(DecisionKeyTest, RetiredKeysAreStillShown) {
  const auto [before, before_public] = Make("before", Ed25519());
  const auto [now, now_public] = Make("now", Ed25519());
  const auto old = DecisionKey::Load(before);
  const auto key = DecisionKey::Load(now, {before_public});
  ASSERT_TRUE(key.ok()) << key.status();
  ASSERT_EQ(key->jwks()["keys"].size(), 2u);
  EXPECT_EQ(key->jwks()["keys"][0]["kid"], key->id()) << "its own is first";
  Check(*key, *key);
  Check(*old, *key);
  EXPECT_EQ(DecisionKey::Load(now, {now}).status().code(), absl::StatusCode::kInvalidArgument)
      << "a private key does not go there";
}

// The thumbprint of RFC 8037, appendix A.3.
TEST_F(DecisionKeyTest, IsNamedByItsThumbprint) {
  const std::vector<uint8_t> seed = *DecodeBase64Url("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A");
  EVP_PKEY* const key =
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size());
  EXPECT_EQ(DecisionKey::Load(Make("rfc", key).first)->id(),
            "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}

// A key that never leaves a token.
TEST_F(DecisionKeyTest, SignsInAToken) {
  const testing::SoftToken& soft = testing::SoftToken::Get();
  const std::string curve = Make("decisions", EVP_EC_gen("P-256")).first;
  soft.Import(curve, "decisions", "a1");
  const auto token = DecisionKey::Load(soft.Uri("decisions"));
  ASSERT_TRUE(token.ok()) << token.status();
  Check(*token, *token);
  EXPECT_EQ(token->id(), DecisionKey::Load(curve)->id());
}

}  // namespace
}  // namespace heft::service
