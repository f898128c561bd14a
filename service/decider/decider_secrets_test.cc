// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/sanitizers.h"
#include "base/testing.h"
#include "service/decider/secrets.h"
#include "service/token_testing.h"

namespace heft::service {
namespace {

using StatusCode = absl::StatusCode;

class DeciderSecretsTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text, mode_t mode) const {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  const heft::testing::TemporaryFolder folder_;
};

TEST_F(DeciderSecretsTest, APassphraseFileIsItsOwnersAlone) {
  EXPECT_EQ(*ReadPassphraseFile(Write("a", "open sesame\nmore", 0400)), "open sesame");
  EXPECT_EQ(*ReadPassphraseFile(Write("b", "open sesame\r\n", 0600)), "open sesame");
  EXPECT_EQ(ReadPassphraseFile(Write("c", "open sesame", 0640)).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadPassphraseFile(Write("d", "\nopen", 0600)).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadPassphraseFile(folder_ / "nobody").status().code(), StatusCode::kNotFound);
}

TEST_F(DeciderSecretsTest, CredentialsComeFromTheirFolder) {
  PassphraseKeeper keeper;
  const PassphraseSource source = keeper.Source({.passphrase = PassphraseFrom::kCredential});
  unsetenv("CREDENTIALS_DIRECTORY");
  EXPECT_EQ(source().status().code(), StatusCode::kFailedPrecondition);
  Write("passphrase", "from systemd\n", 0400);
  setenv("CREDENTIALS_DIRECTORY", folder_.path().c_str(), 1);
  EXPECT_EQ(*source(), "from systemd");
  Write("passphrase", "from systemd\n", 0600);
  chmod((folder_ / "passphrase").c_str(), 0440);
  EXPECT_EQ(*source(), "from systemd") << "a list of who reads it looks so";
  chmod((folder_ / "passphrase").c_str(), 0444);
  EXPECT_EQ(source().status().code(), StatusCode::kFailedPrecondition);
  unsetenv("CREDENTIALS_DIRECTORY");
}

TEST_F(DeciderSecretsTest, ADescriptorIsReadOnceAndKept) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "by a pipe\n", 10), 10);
  close(ends[1]);
  PassphraseKeeper keeper;
  const PassphraseSource source =
      keeper.Source({.passphrase = PassphraseFrom::kDescriptor, .descriptor = ends[0]});
  EXPECT_EQ(*source(), "by a pipe");
  EXPECT_EQ(*source(), "by a pipe") << "at a reload";
  EXPECT_EQ(fcntl(ends[0], F_GETFD), -1) << "no program that is started has it";
}

TEST_F(DeciderSecretsTest, NothingIsAskedOfAKeyInTheClear) {
  PassphraseKeeper keeper;
  EXPECT_FALSE(keeper.Source({.passphrase = PassphraseFrom::kNone}));
}

// Seal: encrypts `text` as `openssl pkeyutl -encrypt` does, for a new key in the file `path`.
std::string Seal(const std::string& path, const std::string& text) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_RSA_gen(2048), EVP_PKEY_free);
  std::FILE* const file = std::fopen(path.c_str(), "w");
  EXPECT_EQ(PEM_write_PKCS8PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr), 1);
  std::fclose(file);
  chmod(path.c_str(), 0600);
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new(key.get(), nullptr), EVP_PKEY_CTX_free);
  EVP_PKEY_encrypt_init(context.get());
  EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_OAEP_PADDING);
  std::string sealed(256, '\0');
  size_t size = sealed.size();
  EXPECT_GT(EVP_PKEY_encrypt(context.get(), reinterpret_cast<uint8_t*>(sealed.data()), &size,
                             reinterpret_cast<const uint8_t*>(text.data()), text.size()),
            0);
  return sealed;
}

TEST_F(DeciderSecretsTest, ASealedPassphraseIsOpenedByItsKey) {
  const std::string seal = folder_ / "seal.key";
  std::string sealed = Seal(seal, "behind a key\n");
  EXPECT_EQ(*UnsealPassphrase(Write("sealed", sealed, 0644), seal), "behind a key");
  sealed[17] ^= 1;
  EXPECT_EQ(UnsealPassphrase(Write("changed", sealed, 0644), seal).status().code(),
            StatusCode::kFailedPrecondition);
}

// The key that opens the sealed passphrase stays in a token.
TEST_F(DeciderSecretsTest, ASealedPassphraseIsOpenedByAToken) {
  const testing::SoftToken& token = testing::SoftToken::Get();
  const std::string sealed = Seal(folder_ / "seal.key", "behind a token\n");
  token.Import(folder_ / "seal.key", "seal", "b2");
  const auto passphrase = UnsealPassphrase(Write("sealed", sealed, 0644), token.Uri("seal"));
  ASSERT_TRUE(passphrase.ok()) << passphrase.status();
  EXPECT_EQ(*passphrase, "behind a token");
}

// In a process of its own, as the protection cannot be undone.
TEST_F(DeciderSecretsTest, AProcessIsProtected) {
  const pid_t child = fork();
  if (child == 0) {
    const absl::Status status = ProtectProcess(/*lock_memory=*/false);
    rlimit core;
    getrlimit(RLIMIT_CORE, &core);
    const bool good = status.ok() && prctl(PR_GET_DUMPABLE) == 0 && core.rlim_max == 0;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// If the system's limit on locked memory is too low, the error says what to do.
TEST_F(DeciderSecretsTest, MemoryThatCannotBeLockedIsSaid) {
  if (kLocksIgnored) GTEST_SKIP() << "sanitizers lock no memory";
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_MEMLOCK, &none);
    const absl::Status status = ProtectProcess(/*lock_memory=*/true);
    const bool good = status.code() == StatusCode::kFailedPrecondition &&
                      status.message().find("LimitMEMLOCK") != std::string_view::npos;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace heft::service
