// SPDX-License-Identifier: Apache-2.0
#include "service/access/jwt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "base/bytes.h"
#include "base/files.h"
#include "base/testing.h"
#include "service/access/jwt_keys.h"
#include "service/json.h"
#include "service/testing.h"
#include "service/text.h"

namespace heft::service {
namespace {

using ::testing::HasSubstr;
using testing::TokenIssuer;

std::string TextOf(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// RFC 4648, section 10.
TEST(JwtTest, Base64OfTheStandard) {
  const std::vector<std::pair<std::string, std::string>> known = {{"", ""},
                                                                  {"f", "Zg=="},
                                                                  {"fo", "Zm8="},
                                                                  {"foo", "Zm9v"},
                                                                  {"foob", "Zm9vYg=="},
                                                                  {"fooba", "Zm9vYmE="},
                                                                  {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : known) {
    EXPECT_EQ(Base64(AsBytes(plain)), coded);
    EXPECT_EQ(TextOf(*DecodeBase64(coded)), plain);
    const std::string bare = coded.substr(0, coded.find('='));
    EXPECT_EQ(Base64Url(AsBytes(plain)), bare);
    EXPECT_EQ(TextOf(*DecodeBase64Url(bare)), plain);
  }
  EXPECT_EQ(Base64Url(std::vector<uint8_t>{0xfb, 0xff}), "-_8");
  // Each value has one text: no other alphabet, length or padding, and no bits that are ignored.
  for (const char* wrong :
       {"Zg==", "Z", "Zm9vY", "Zh", "Zm9=", "Zm 9", "Zm9v\n", "-/", "Zm9v\xf2\xf2\xf2\xf2"}) {
    EXPECT_FALSE(DecodeBase64Url(wrong).ok()) << wrong;
  }
  for (const char* wrong : {"Zg", "Zg=", "Zg===", "Zh==", "Zm9v\n",
                            "-_8=", "====", "Z===", "=Zg=", "\xf2\xf2\xf2\xf2"}) {
    EXPECT_FALSE(DecodeBase64(wrong).ok()) << wrong;
  }
}

// RFC 8037, appendix A.4: the signature of a known key on a known text.
TEST(JwtTest, SignatureOfRfc8037) {
  const auto keys = KeySet::Parse(R"({"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1",)"
                                  R"("x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})",
                                  "known");
  ASSERT_TRUE(keys.ok()) << keys.status();
  const auto signature = DecodeBase64Url(
      "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg");
  const std::string message = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
  EVP_PKEY* key = keys->Find("1")->key.get();
  EXPECT_TRUE(SignatureFits(key, "EdDSA", AsBytes(message), *signature));
  EXPECT_FALSE(SignatureFits(key, "EdDSA", AsBytes(message + "x"), *signature));
}

// RFC 7515, appendix A.3: ES256.
TEST(JwtTest, SignatureOfRfc7515) {
  const auto keys = KeySet::Parse(R"({"keys":[{"kty":"EC","crv":"P-256","kid":"1",)"
                                  R"("x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
                                  R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})",
                                  "known");
  ASSERT_TRUE(keys.ok()) << keys.status();
  const auto signature = DecodeBase64Url(
      "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");
  const std::string message =
      "eyJhbGciOiJFUzI1NiJ9"
      ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cn"
      "VlfQ";
  EXPECT_TRUE(SignatureFits(keys->Find("1")->key.get(), "ES256", AsBytes(message), *signature));
}

class TokensTest : public ::testing::Test {
 protected:
  absl::StatusOr<TokenClaims> Believe(const std::string& token) const {
    const auto keys = KeySet::Parse(*ReadTextFile(issuer_.Rules().keys), "keys");
    EXPECT_TRUE(keys.ok()) << keys.status();
    const auto payload = VerifyJws(token, *keys);
    if (!payload.ok()) return payload.status();
    return CheckClaims(*payload, issuer_.Rules(), now_);
  }
  std::string Why(const std::string& token) const {
    const auto claims = Believe(token);
    if (claims.ok()) return "believed";
    EXPECT_EQ(claims.status().code(), absl::StatusCode::kUnauthenticated);
    return Message(claims.status());
  }
  std::string With(const Json& claims) const {
    return Why(issuer_.Token("ann", {ServiceRole::kOperator}, claims));
  }

  heft::testing::TemporaryFolder folder_;
  TokenIssuer issuer_{folder_.path()};
  const uint64_t now_ = static_cast<uint64_t>(std::time(nullptr));
};

TEST_F(TokensTest, EveryAlgorithm) {
  for (const char* algorithm : {"EdDSA", "ES256", "RS256"}) {
    const auto claims = Believe(
        issuer_.Token("ann", {ServiceRole::kOperator, ServiceRole::kAuditor}, {}, algorithm));
    ASSERT_TRUE(claims.ok()) << algorithm << claims.status();
    EXPECT_EQ(claims->subject, "ann");
    EXPECT_EQ(claims->roles, (std::set<std::string>{"auditor", "operator"}));
    EXPECT_FALSE(claims->limits_scopes);
  }
}

TEST_F(TokensTest, ClaimsThatAreWrong) {
  EXPECT_EQ(With({{"scope", "audit:read  admissions:decide"}}), "believed");
  EXPECT_EQ(With({{"aud", {"other", "heft-test"}}}), "believed");
  EXPECT_EQ(With({{"iat", now_ - 100}, {"exp", now_ - 10}}), "believed");  // clocks differ
  EXPECT_EQ(With({{"nbf", now_ + 10}}), "believed");
  EXPECT_THAT(With({{"iss", "https://other.test"}}), HasSubstr("issuer"));
  EXPECT_THAT(With({{"iss", nullptr}}), HasSubstr("issuer"));
  EXPECT_THAT(With({{"aud", "other"}}), HasSubstr("aud"));
  EXPECT_THAT(With({{"aud", nullptr}}), HasSubstr("aud"));
  EXPECT_THAT(With({{"aud", {{"heft-test", 1}}}}), HasSubstr("aud"));
  EXPECT_THAT(With({{"sub", nullptr}}), HasSubstr("sub"));
  EXPECT_THAT(With({{"sub", std::string(300, 'x')}}), HasSubstr("sub"));
  EXPECT_THAT(With({{"sub", "ann\nbob"}}), HasSubstr("control characters in its subject (sub)"));
  EXPECT_THAT(With({{"sub", "ann\x7f"}}), HasSubstr("control characters in its subject (sub)"));
  EXPECT_THAT(With({{"iat", now_ - 100}, {"exp", now_ - 31}}), HasSubstr("expired"));
  EXPECT_THAT(With({{"exp", nullptr}}), HasSubstr("iat, exp"));
  EXPECT_THAT(With({{"exp", "tomorrow"}}), HasSubstr("iat, exp"));
  EXPECT_THAT(With({{"exp", 1e300}}), HasSubstr("iat, exp"));
  EXPECT_THAT(With({{"exp", -1}}), HasSubstr("iat, exp"));
  EXPECT_THAT(With({{"iat", nullptr}}), HasSubstr("iat, exp"));
  EXPECT_THAT(With({{"iat", now_ + 60}}), HasSubstr("future"));
  EXPECT_THAT(With({{"nbf", now_ + 60}}), HasSubstr("future"));
  EXPECT_THAT(With({{"nbf", "x"}}), HasSubstr("nbf"));
  EXPECT_THAT(With({{"exp", now_ + 13 * 3600}}), HasSubstr("too long"));
  EXPECT_THAT(With({{"roles", nullptr}}), HasSubstr("no role"));
  EXPECT_THAT(With({{"roles", {"machine"}}}), HasSubstr("no role"));
  EXPECT_THAT(With({{"roles", {1}}}), HasSubstr("roles"));
  EXPECT_THAT(With({{"scope", {"audit:read"}}}), HasSubstr("scopes"));
  EXPECT_THAT(With({{"cnf", {{"jkt", "x"}}}}), HasSubstr("cnf"));
}

TEST_F(TokensTest, SignaturesThatAreWrong) {
  const std::string good = issuer_.Token("ann", {ServiceRole::kOperator});
  ASSERT_EQ(Why(good), "believed");
  const size_t first = good.find('.'), second = good.rfind('.');
  const std::string payload = good.substr(first + 1, second - first - 1);
  const std::string signature = good.substr(second + 1);
  const auto header = [&](const std::string& json) {
    return Base64Url(AsBytes(json)) + "." + payload + "." + signature;
  };
  EXPECT_THAT(Why(issuer_.Forged("ann", {ServiceRole::kOperator})), HasSubstr("signature"));
  EXPECT_THAT(Why(header(R"({"alg":"none","kid":"EdDSA"})")), HasSubstr("algorithm"));
  EXPECT_THAT(Why(header(R"({"alg":"HS256","kid":"RS256"})")), HasSubstr("algorithm"));
  EXPECT_THAT(Why(header(R"({"alg":"RS256","kid":"EdDSA"})")), HasSubstr("algorithm"));
  EXPECT_THAT(Why(header(R"({"alg":"EdDSA"})")), HasSubstr("kid"));
  EXPECT_THAT(Why(header(R"({"alg":"EdDSA","kid":"unknown"})")), HasSubstr("kid"));
  EXPECT_THAT(Why(header(R"({"alg":"EdDSA","kid":["EdDSA"]})")), HasSubstr("kid"));
  EXPECT_THAT(Why(header(R"({"alg":"EdDSA","kid":"EdDSA","crit":["exp"]})")),
              HasSubstr("extensions"));
  EXPECT_THAT(Why(header(R"({"alg":"EdDSA","kid":"EdDSA","b64":false})")), HasSubstr("unencoded"));
  EXPECT_THAT(Why(header(R"({"alg":"EdDSA","kid":"EdDSA","typ":"heft-decision"})")),
              HasSubstr("type"));
  EXPECT_THAT(Why(header(R"({"alg":"EdDSA","kid":"EdDSA"})")), HasSubstr("signature"));
  EXPECT_THAT(Why(header(R"({"alg":"none","alg":"EdDSA","kid":"EdDSA"})")), HasSubstr("header"));
  EXPECT_THAT(Why(header("[]")), HasSubstr("header"));
  EXPECT_THAT(Why(header("")), HasSubstr("header"));
  EXPECT_THAT(Why(good.substr(0, second + 1)), HasSubstr("signature"));
  EXPECT_THAT(Why(good.substr(0, second)), HasSubstr("compact"));
  EXPECT_THAT(Why(good + ".x"), HasSubstr("compact"));
  EXPECT_THAT(Why(good + "="), HasSubstr("signature"));
  EXPECT_THAT(Why(std::string(9000, 'x')), HasSubstr("8 kB"));
  EXPECT_THAT(Why(""), HasSubstr("compact"));
  // Each bit counts.
  for (size_t i = 0; i < good.size(); i += 7) {
    std::string changed = good;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    if (changed != good) {
      EXPECT_NE(Why(changed), "believed") << i;
    }
  }
}

TEST_F(TokensTest, DecisionsAreOfTheirOwnType) {
  const auto keys = KeySet::Parse(*ReadTextFile(issuer_.Rules().keys), "keys");
  for (const char* algorithm : {"EdDSA", "ES256", "RS256"}) {
    const auto signed_one =
        SignJws(issuer_.key(algorithm), algorithm, {{"decision", "accept"}}, "heft-decision+jwt");
    ASSERT_TRUE(signed_one.ok());
    EXPECT_EQ((*VerifyJws(*signed_one, *keys, "heft-decision+jwt"))["decision"], "accept");
    EXPECT_FALSE(VerifyJws(*signed_one, *keys).ok());
  }
}

TEST_F(TokensTest, KeySetsThatAreWrong) {
  const auto why = [](const std::string& jwks) {
    const auto keys = KeySet::Parse(jwks, "f");
    return keys.ok() ? "taken" : Message(keys.status());
  };
  const std::string ed =
      R"("kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")";
  EXPECT_EQ(why(R"({"keys":[{"kid":"1",)" + ed + "}]}"), "taken");
  EXPECT_EQ(why(R"({"keys":[]})"), "taken");
  EXPECT_THAT(why("{}"), HasSubstr("not a JWKS"));
  EXPECT_THAT(why("nothing"), HasSubstr("not a JWKS"));
  EXPECT_THAT(why(R"({"keys":[{)" + ed + "}]}"), HasSubstr("kid"));
  EXPECT_THAT(why(R"({"keys":[1]})"), HasSubstr("kid"));
  EXPECT_THAT(why(R"({"keys":[{"kid":"1",)" + ed + R"(},{"kid":"1",)" + ed + "}]}"),
              HasSubstr("two keys"));
  EXPECT_THAT(why(R"({"keys":[{"kid":"1","d":"x",)" + ed + "}]}"), HasSubstr("private"));
  EXPECT_THAT(why(R"({"keys":[{"kid":"1","use":"enc",)" + ed + "}]}"), HasSubstr("signatures"));
  EXPECT_THAT(why(R"({"keys":[{"kid":"1","alg":"HS256",)" + ed + "}]}"), HasSubstr("HS256"));
  EXPECT_THAT(why(R"({"keys":[{"kid":"1","kty":"oct","k":"AAAA"}]})"), HasSubstr("private"));
  EXPECT_THAT(why(R"({"keys":[{"kid":"1","kty":"OKP","crv":"Ed25519","x":"AAAA"}]})"),
              HasSubstr("damaged"));
  EXPECT_THAT(why(R"({"keys":[{"kid":"1","kty":"RSA","n":"AQAB","e":"AQAB"}]})"),
              HasSubstr("damaged"));
  // A point that is not on the curve.
  EXPECT_THAT(why(R"({"keys":[{"kid":"1","kty":"EC","crv":"P-256",)"
                  R"("x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
                  R"("y":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"}]})"),
              HasSubstr("damaged"));
  EXPECT_THAT(why(R"({"keys":[{"kid":"1","kty":"EC","crv":"P-384","x":"AA","y":"AA"}]})"),
              HasSubstr("neither"));
}

}  // namespace
}  // namespace heft::service
