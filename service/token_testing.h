// SPDX-License-Identifier: Apache-2.0
// For tests only: a token in software (SoftHSM). One for each process, because OpenSSL's engine
// loads its module once.
#ifndef HEFT_SERVICE_TOKEN_TESTING_H_
#define HEFT_SERVICE_TOKEN_TESTING_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/testing.h"

namespace heft::service::testing {

class SoftToken {
 public:
  static const SoftToken& Get() {
    static const SoftToken token;
    return token;
  }
  // Puts the key of a PEM file (PKCS #8) into the token.
  void Import(const std::string& file, const std::string& label, const std::string& id) const {
    EXPECT_EQ(Run("softhsm2-util --import " + file + " --token heft --label " + label + " --id " +
                  id + " --pin 123456"),
              0)
        << *ReadTextFile(folder_ / "out");
  }
  std::string Uri(const std::string& label) const {
    return "pkcs11:token=heft;object=" + label + ";type=private?module-path=" + kModule +
           "&pin-source=file:" + (folder_ / "pin");
  }
  // The folder of the tokens; moving it is like pulling the token out.
  std::string tokens() const { return folder_ / "tokens"; }
  std::string pin() const { return folder_ / "pin"; }

 private:
  static constexpr char kModule[] = "/usr/lib/softhsm/libsofthsm2.so";
  SoftToken() {
    EXPECT_TRUE(std::filesystem::exists(kModule))
        << "softhsm2 is missing: scripts/install-dependencies";
    std::filesystem::create_directory(folder_ / "tokens");
    EXPECT_TRUE(WriteFileAtomic(folder_ / "softhsm2.conf",
                                "directories.tokendir = " + (folder_ / "tokens") +
                                    "\nobjectstore.backend = file\nlog.level = ERROR\n")
                    .ok());
    EXPECT_TRUE(WriteFileAtomic(folder_ / "pin", std::string_view("123456\n"), 0600).ok());
    setenv("SOFTHSM2_CONF", (folder_ / "softhsm2.conf").c_str(), 1);
    EXPECT_EQ(Run("softhsm2-util --init-token --free --label heft --so-pin 123456 --pin 123456"),
              0);
  }
  int Run(const std::string& command) const {
    return std::system((command + " >" + (folder_ / "out") + " 2>&1").c_str());
  }
  const heft::testing::TemporaryFolder folder_;
};

}  // namespace heft::service::testing

#endif  // HEFT_SERVICE_TOKEN_TESTING_H_
