// SPDX-License-Identifier: Apache-2.0
#include "fusion/owner/secret_key_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace heft {
namespace {

TEST(SecretKeyFileTest, WithAndWithoutPassphrase) {
  const ckks::Context context(*ckks::Params::Create({.n = 4096, .data_bits = {30, 26, 20}}));
  Csprng rng;
  const ckks::SecretKey secret = *ckks::SecretKey::Generate(context, rng);
  const std::vector<uint8_t> clear = *SerializeSecretKey(context, secret, {});
  EXPECT_FALSE(*SecretKeyIsSealed(clear, "key"));
  auto back = ParseSecretKey(context, clear, {}, "key");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(std::equal(back->coefficients().begin(), back->coefficients().end(),
                         secret.coefficients().begin()));
  const std::string passphrase = "correct horse battery staple", wrong = "Tr0ub4dor&3";
  const std::vector<uint8_t> sealed = *SerializeSecretKey(context, secret, passphrase);
  EXPECT_TRUE(*SecretKeyIsSealed(sealed, "key"));
  EXPECT_TRUE(ParseSecretKey(context, sealed, passphrase, "key").ok());
  EXPECT_EQ(ParseSecretKey(context, sealed, wrong, "key").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseSecretKey(context, sealed, {}, "key").status().code(),
            absl::StatusCode::kFailedPrecondition);
  // The sealed file holds no run of the clear coefficients.
  const std::string needle(reinterpret_cast<const char*>(secret.coefficients().data()), 32);
  const std::string haystack(sealed.begin(), sealed.end());
  EXPECT_EQ(haystack.find(needle), std::string::npos);
}

}  // namespace
}  // namespace heft
