// SPDX-License-Identifier: Apache-2.0
// Signing of requests for services that require it (heft/trust.h). Keys are bytes here, as there
// are no files. The conventions of exports.cc apply.
#include <emscripten/emscripten.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/inside.h"
#include "base/signing.h"
#include "base/status.h"
#include "browser/result.h"
#include "heft/trust.h"

namespace heft::browser {
namespace {

absl::StatusOr<SigningKey> ParseSigningKey(std::span<const uint8_t> bytes) {
  HEFT_ASSIGN_OR_RETURN(auto impl, SigningKey::Impl::Parse(bytes, {}, "signing key"));
  return Inside::Make<SigningKey>(std::move(impl));
}

absl::StatusOr<std::vector<uint8_t>> NewSigningKey() {
  HEFT_ASSIGN_OR_RETURN(const SigningKey key, SigningKey::Generate());
  return Inside::Of(key).Serialize({});
}

absl::StatusOr<std::string> PublicHalf(std::span<const uint8_t> bytes) {
  HEFT_ASSIGN_OR_RETURN(const SigningKey key, ParseSigningKey(bytes));
  return HexString(key.public_key());
}

absl::StatusOr<std::vector<uint8_t>> Sign(std::span<const uint8_t> bytes,
                                          std::span<const uint8_t> file, std::string_view audience,
                                          uint64_t life) {
  HEFT_ASSIGN_OR_RETURN(const SigningKey key, ParseSigningKey(bytes));
  Statement statement;
  statement.role = Role::kClient;
  if (!audience.empty()) {
    HEFT_ASSIGN_OR_RETURN(statement.audience, ParseSignerKey(audience));
  }
  statement.issued = UnixTime();
  if (life > 0) statement.expires = statement.issued + life;
  return key.Sign(std::move(statement), file);
}

}  // namespace

extern "C" {

// Its result: the bytes of a signing key's file, in the clear.
EMSCRIPTEN_KEEPALIVE int heft_new_signing_key() { return Finish(NewSigningKey()); }
// Its result: the public half of such a file, hexadecimal.
EMSCRIPTEN_KEEPALIVE int heft_signer(const uint8_t* key, size_t key_size) {
  return Finish(PublicHalf({key, key_size}));
}
// Its result: the file, signed by a client, for `audience` (hexadecimal; empty: every reader) and
// this many seconds (0: for ever).
EMSCRIPTEN_KEEPALIVE int heft_sign(const uint8_t* key, size_t key_size, const uint8_t* file,
                                   size_t file_size, const char* audience, size_t audience_size,
                                   uint32_t life) {
  return Finish(Sign({key, key_size}, {file, file_size}, {audience, audience_size}, life));
}

}  // extern "C"

}  // namespace heft::browser
