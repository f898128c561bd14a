// SPDX-License-Identifier: Apache-2.0
// By OpenSSL, three times as fast as libsodium with AVX-512: half of each key and sample is such a
// stream. An OpenSSL whose configuration allows no ChaCha20 (FIPS), or that gets no memory, leaves
// it to libsodium.
#include "base/public_stream.h"

#include <openssl/evp.h>
#include <sodium.h>

#include <cstring>
#include <memory>

namespace heft {
namespace {

bool ByOpenSsl(std::span<uint8_t> out, const std::array<uint8_t, 32>& key,
               const std::array<uint8_t, 8>& nonce, uint64_t block) {
  static const EVP_CIPHER* const chacha20 = EVP_CIPHER_fetch(nullptr, "ChaCha20", nullptr);
  // One for each call: glibc ends a process that has no memory to note a thread's destructor.
  const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(),
                                                                           EVP_CIPHER_CTX_free);
  if (chacha20 == nullptr || context == nullptr) return false;
  std::array<uint8_t, 16> start;
  std::memcpy(start.data(), &block, sizeof(block));
  std::memcpy(start.data() + sizeof(block), nonce.data(), nonce.size());
  int size = 0;
  return EVP_EncryptInit_ex2(context.get(), chacha20, key.data(), start.data(), nullptr) == 1 &&
         EVP_EncryptUpdate(context.get(), out.data(), &size, out.data(),
                           static_cast<int>(out.size())) == 1;
}

}  // namespace

void PublicStream(std::span<uint8_t> out, const std::array<uint8_t, 32>& key,
                  const std::array<uint8_t, 8>& nonce, uint64_t block) {
  if (ByOpenSsl(out, key, nonce, block)) return;
  crypto_stream_chacha20_xor_ic(out.data(), out.data(), out.size(), nonce.data(), block,
                                key.data());
}

}  // namespace heft
