// SPDX-License-Identifier: Apache-2.0
// OpenSSL 3 deprecates engines, but Debian 12 has PKCS#11 only as an engine, not as a provider.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "service/http/private_key.h"

#include <openssl/engine.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "service/http/message.h"
#include "service/http/token_uri.h"
#include "service/text.h"

namespace heft::service {
namespace {

// GivenBySystemd: the files of LoadCredential may be root's, with an access list that looks like
// group permissions.
bool GivenBySystemd(const std::string& path) {
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  return folder != nullptr && path.starts_with(absl::StrCat(folder, "/"));
}

// NoPassphrase: key files have no passphrase; asking at a terminal would block a daemon.
int NoPassphrase(char*, int, int, void*) { return -1; }

absl::StatusOr<std::shared_ptr<EVP_PKEY>> OfFile(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const SecretFile file, ReadSecretFile(path, 1 << 16));
  if (!GivenBySystemd(path)) HEFT_RETURN_IF_ERROR(file.permissions);
  BIO* bio = BIO_new_mem_buf(file.bytes.data(), static_cast<int>(file.bytes.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, NoPassphrase, nullptr);
  BIO_free(bio);
  if (key == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " contains no private key in PEM without a passphrase: ", OpenSslErrors()));
  }
  return std::shared_ptr<EVP_PKEY>(key, EVP_PKEY_free);
}

std::atomic<bool> engine_is_loaded = false;

// TokenEngine: the engine, loaded once with the module of the first key. A second module would be
// ignored silently.
absl::StatusOr<ENGINE*> TokenEngine(const TokenUri& uri) {
  static ENGINE* engine = nullptr;
  static auto* const module = new std::string;
  if (engine != nullptr) {
    if (uri.module.empty() || uri.module == *module) return engine;
    return absl::InvalidArgumentError(
        absl::StrCat(uri.uri, ": another key of this process uses the module ",
                     module->empty() ? "OpenSSL's own module" : *module,
                     ": give all keys the same module-path"));
  }
  ENGINE_load_dynamic();
  ENGINE* made = ENGINE_by_id("pkcs11");
  if (made == nullptr ||
      (!uri.module.empty() &&
       ENGINE_ctrl_cmd_string(made, "MODULE_PATH", uri.module.c_str(), 0) != 1) ||
      ENGINE_init(made) != 1) {
    if (made != nullptr) ENGINE_free(made);
    return absl::FailedPreconditionError(
        absl::StrCat(uri.uri,
                     ": OpenSSL's engine for PKCS#11 does not load (is "
                     "libengine-pkcs11-openssl installed, and module-path right?): ",
                     OpenSslErrors()));
  }
  *module = uri.module;
  engine_is_loaded = true;
  return engine = made;
}

absl::StatusOr<std::shared_ptr<EVP_PKEY>> OfToken(const std::string& text) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  HEFT_ASSIGN_OR_RETURN(const TokenUri uri, ParseTokenUri(text));
  HEFT_ASSIGN_OR_RETURN(ENGINE* const engine, TokenEngine(uri));
  if (uri.pin.size() > 0) ENGINE_ctrl_cmd_string(engine, "PIN", uri.pin.data(), 0);
  EVP_PKEY* key = ENGINE_load_private_key(engine, uri.uri.c_str(), nullptr, nullptr);
  if (key == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        uri.uri, ": the token has no such key, or the PIN is wrong: ", OpenSslErrors()));
  }
  return std::shared_ptr<EVP_PKEY>(key, EVP_PKEY_free);
}

}  // namespace

absl::StatusOr<TokenUri> ParseTokenUri(const std::string& text) {
  TokenUri out;
  const size_t mark = text.find('?');
  out.uri = text.substr(0, mark);
  std::string_view path = out.uri;
  if (path.starts_with(kTokenScheme)) path.remove_prefix(std::string_view(kTokenScheme).size());
  for (const std::string_view pair : Split(path, ';')) {
    const size_t equals = pair.find('=');
    if (equals == pair.npos) continue;
    const std::string_view name = pair.substr(0, equals);
    if (name != "token" && name != "object") continue;
    HEFT_ASSIGN_OR_RETURN((name == "token" ? out.token : out.object),
                          DecodePercent(pair.substr(equals + 1)));
  }
  if (mark == text.npos) return out;
  for (const std::string_view pair : Split(std::string_view(text).substr(mark + 1), '&')) {
    const size_t equals = pair.find('=');
    const std::string_view name = pair.substr(0, equals);
    HEFT_ASSIGN_OR_RETURN(std::string value,
                          DecodePercent(equals == pair.npos ? "" : pair.substr(equals + 1)));
    if (name == "module-path") {
      out.module = value;
    } else if (name == "pin-source") {
      const std::string file_path = value.starts_with("file:") ? value.substr(5) : value;
      HEFT_ASSIGN_OR_RETURN(const SecretFile file, ReadSecretFile(file_path, 256));
      if (!GivenBySystemd(file_path)) HEFT_RETURN_IF_ERROR(file.permissions);
      const std::string_view pin(reinterpret_cast<const char*>(file.bytes.data()),
                                 file.bytes.size());
      const std::string_view trimmed = Trim(pin);
      if (trimmed.empty()) continue;
      HEFT_ASSIGN_OR_RETURN(out.pin, SecureVector<char>::Create(trimmed.size() + 1));
      std::ranges::copy(trimmed, out.pin.data());
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(out.uri, ": only module-path and pin-source are accepted in a query, not \"",
                       std::string(name), "\"; a PIN is read from the file that pin-source names"));
    }
  }
  return out;
}

bool TokenEngineIsLoaded() { return engine_is_loaded; }

std::string OpenSslErrors() {
  std::string all;
  for (unsigned long code; (code = ERR_get_error()) != 0;) {  // NOLINT: OpenSSL's type
    char text[256];
    ERR_error_string_n(code, text, sizeof text);
    absl::StrAppend(&all, all.empty() ? "" : "; ", text);
  }
  return all.empty() ? "no reason given" : all;
}

absl::StatusOr<std::shared_ptr<EVP_PKEY>> LoadPrivateKey(const std::string& file_or_uri) {
  ERR_clear_error();
  if (file_or_uri.starts_with(kTokenScheme)) return OfToken(file_or_uri);
  return OfFile(file_or_uri);
}

}  // namespace heft::service
