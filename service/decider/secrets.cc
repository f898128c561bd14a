// SPDX-License-Identifier: Apache-2.0
#include "service/decider/secrets.h"

#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status.h"
#include "heft/base.h"
#include "service/http/private_key.h"

namespace heft::service {
namespace {

constexpr size_t kMaxPassphrase = 4096;

// FirstLine: the first line of `bytes`, which it wipes.
absl::StatusOr<std::string> FirstLine(std::span<uint8_t> bytes, const std::string& what) {
  const auto end = std::find(bytes.begin(), bytes.end(), '\n');
  std::string line(bytes.begin(), end);
  SecureWipe(bytes.data(), bytes.size());
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the first line must be the passphrase, but it is empty"));
  }
  return line;
}

}  // namespace

absl::Status ProtectProcess(bool lock_memory) {
  HEFT_RETURN_IF_ERROR(DisableCoreDumps());
  // MCL_ONFAULT: reserved pages that are never touched use no memory, so they are not locked.
  if (!lock_memory || mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the system does not allow locking memory (", std::strerror(errno),
      "): set LimitMEMLOCK=infinity in the unit (`ulimit -l unlimited` in a shell), or "
      "lock_memory = false in [key] where the machine has no swap"));
}

absl::StatusOr<std::string> ReadPassphraseFile(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(SecretFile file, ReadSecretFile(path, kMaxPassphrase));
  HEFT_RETURN_IF_ERROR(file.permissions);
  return FirstLine(file.bytes.span(), path);
}

absl::StatusOr<std::string> ReadCredential(const std::string& folder, const std::string& name) {
  const std::string path = absl::StrCat(folder, "/", name);
  HEFT_ASSIGN_OR_RETURN(SecretFile file, ReadSecretFile(path, kMaxPassphrase));
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || (status.st_mode & (S_IWGRP | S_IRWXO)) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": other users may read it, so it is not a credential from systemd"));
  }
  return FirstLine(file.bytes.span(), path);
}

absl::StatusOr<std::string> UnsealPassphrase(const std::string& path, const std::string& seal) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> sealed, ReadFile(path, kMaxPassphrase));
  HEFT_ASSIGN_OR_RETURN(const std::shared_ptr<EVP_PKEY> key, LoadPrivateKey(seal));
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new(key.get(), nullptr), EVP_PKEY_CTX_free);
  size_t size = 0;
  const bool sized =
      context != nullptr && EVP_PKEY_decrypt_init(context.get()) > 0 &&
      EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_OAEP_PADDING) > 0 &&
      EVP_PKEY_decrypt(context.get(), nullptr, &size, sealed.data(), sealed.size()) > 0;
  if (sized) {
    HEFT_ASSIGN_OR_RETURN(auto plain, SecureVector<uint8_t>::Create(size));
    if (EVP_PKEY_decrypt(context.get(), plain.data(), &size, sealed.data(), sealed.size()) > 0) {
      return FirstLine(plain.span().first(size), path);
    }
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": the key \"seal\" does not open it (", OpenSslErrors(),
                   "): was it sealed for that key, with RSA-OAEP?"));
}

absl::StatusOr<std::string> PassphraseKeeper::FromDescriptor(int descriptor) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!read_) {
    HEFT_ASSIGN_OR_RETURN(auto buffer, SecureVector<uint8_t>::Create(kMaxPassphrase));
    size_t size = 0;
    while (size < buffer.size()) {
      const ssize_t got = read(descriptor, buffer.data() + size, buffer.size() - size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return absl::UnavailableError(absl::StrCat("descriptor ", descriptor,
                                                   ", for the passphrase: ", std::strerror(errno)));
      }
      if (got == 0) break;
      size += static_cast<size_t>(got);
    }
    close(descriptor);
    HEFT_ASSIGN_OR_RETURN(std::string line, FirstLine(buffer.span().first(size),
                                                      absl::StrCat("descriptor ", descriptor)));
    HEFT_ASSIGN_OR_RETURN(kept_, SecureVector<char>::Create(line.size()));
    std::copy(line.begin(), line.end(), kept_.data());
    SecureWipe(line.data(), line.size());
    read_ = true;
  }
  return std::string(kept_.data(), kept_.size());
}

PassphraseSource PassphraseKeeper::Source(const KeyConfig& config) {
  switch (config.passphrase) {
    case PassphraseFrom::kNone:
      return {};
    case PassphraseFrom::kDescriptor:
      return [this, descriptor = config.descriptor] { return FromDescriptor(descriptor); };
    case PassphraseFrom::kSealed:
      return [path = config.sealed_passphrase, seal = config.seal] {
        return UnsealPassphrase(path, seal);
      };
    case PassphraseFrom::kCredential:
      break;
  }
  return []() -> absl::StatusOr<std::string> {
    const char* const folder = std::getenv("CREDENTIALS_DIRECTORY");
    if (folder == nullptr) {
      return absl::FailedPreconditionError(
          "no passphrase: the unit needs LoadCredential=passphrase:FILE (systemd sets "
          "$CREDENTIALS_DIRECTORY), or [key] another passphrase");
    }
    return ReadCredential(folder, "passphrase");
  };
}

}  // namespace heft::service
