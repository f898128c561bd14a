// SPDX-License-Identifier: Apache-2.0
// Files that the programs refuse with default flags, each with its own reason: made by or for
// another party, of another gallery, too old, changed, or not signed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/envelope.h"
#include "base/files.h"
#include "heft/gallery.h"
#include "heft/trust.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

Bytes Read(const std::string& path) {
  auto bytes = ReadFile(path);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return *std::move(bytes);
}

// Inner: the file inside a signed one.
Bytes Inner(const std::string& path) {
  const Bytes bytes = Read(path);
  const auto file = ReadSigned(bytes, path);
  EXPECT_TRUE(file.ok()) << file.status();
  return {file->file.begin(), file->file.end()};
}

// Reseal: the same payload with a new checksum, which anybody can compute.
Bytes Reseal(const Bytes& file) {
  return SealEnvelope(EnvelopeKind(file), EnvelopeVersion(file),
                      ByteSpan(file).subspan(kEnvelopeHeaderSize, file.size() - kEnvelopeOverhead));
}

// owner/: model, keys, and those of a stranger; server/gallery and server/other: ann, bob and cay;
// server/scores.ct: an answer to client/face.ct.
class SignaturesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--jitter", "1", "--identities", "20", "--samples",
                 "3", "--dimensions", "24"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft")));
    for (const char* keys : {"owner/keys", "owner/stranger"}) {
      Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W(keys)});
    }
    RaiseBudget(W("model.heft"), W("owner/keys/secret.key"));
    EncryptBoth(Encrypt("client/face.ct", "owner/keys"));
    for (const char* gallery : {"server/gallery", "server/other"}) {
      EnrolNow(Serve("enrol", {"--gallery", W(gallery)}), W("owner/keys/secret.key"));
    }
    Must(kServer, Identify("server/scores.ct"));
    for (const char* name : {"client", "trainer", "nobody"}) {
      Must(kHeft, {"trust", "new-key", "--out", W(std::string(name) + ".key")});
    }
  }
  static void TearDownTestSuite() { delete work_; }

  static std::string W(const std::string& path) { return (*work_)(path); }
  static std::string Trusted() { return W("owner/keys/trust.heft"); }
  static Args Join(Args args, const Args& more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static Args Encrypt(const std::string& out, const std::string& keys, const Args& more = {}) {
    return Join(
        {"encrypt", "--model", W("model.heft"), "--key", W(keys + "/encryption.key"), "--modality",
         "face", "--in", W("data/face.npy"), "--labels", W("data/labels.txt"), "--out", W(out)},
        more);
  }
  static Args Serve(const std::string& subcommand, const Args& more,
                    const std::string& keys = "owner/keys") {
    return WithProbes(WithRow(Join({subcommand, "--model", W("model.heft"), "--keys",
                                    W(keys + "/evaluation.keys"), "--in", W("client/face.ct")},
                                   more)));
  }
  static Args Identify(const std::string& out, const std::string& gallery = "server/gallery") {
    return Serve("identify", {"--gallery", W(gallery), "--out", W(out)});
  }
  static Args Decrypt(const std::string& in, const Args& more = {}) {
    return Join({"decrypt", "--model", W("model.heft"), "--secret-key", W("owner/keys/secret.key"),
                 "--in", W(in), "--threshold", "0.5"},
                more);
  }
  // Writes the bytes as a new file of this name.
  static std::string Write(const std::string& name, const Bytes& bytes) {
    EXPECT_TRUE(WriteFile(W(name), bytes).ok());
    return name;
  }
  // The answer signed anew, with this key and statement.
  static std::string SignedReply(const std::string& name, const SigningKey& key,
                                 const Statement& statement) {
    return Write(name, *key.Sign(statement, Inner(W("server/scores.ct"))));
  }
  static SigningKey ServerKey(const std::string& gallery = "server/gallery") {
    auto key = SigningKey::Load(W(gallery + "/server.key"));
    EXPECT_TRUE(key.ok()) << key.status();
    return *std::move(key);
  }
  // A folder with a key file and the owner's trust.
  static std::string Folder(const std::string& name, const std::string& file, const Bytes& bytes) {
    std::filesystem::create_directories(W(name));
    std::filesystem::copy(Trusted(), W(name + "/trust.heft"),
                          std::filesystem::copy_options::overwrite_existing);
    Write(name + "/" + file, bytes);
    return name;
  }

  // Must be refused for this reason: one line on stderr, nothing on stdout, no file changed.
  static void Refused(const char* program, const Args& args, const std::string& reason) {
    const auto before = Snapshot(work_->root());
    const Finished run = RunProgram(program, args);
    EXPECT_EQ(run.exit_code, kInput) << ::testing::PrintToString(args) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(Lines(run.err), 1u) << run.err;
    EXPECT_THAT(run.err, HasSubstr(reason));
    EXPECT_EQ(Snapshot(work_->root()), before) << "files have changed";
  }

  inline static Workplace* work_ = nullptr;
};

TEST_F(SignaturesTest, HonestFilesAreTaken) {
  // Each reply is opened once, and other tests open the other one.
  Must(kServer, Join(Identify("server/honest.ct"), {"--degree-two"}));
  const auto opened = Must(kHeft, Decrypt("server/honest.ct", {"--scores", "--top", "3"}));
  EXPECT_EQ(opened["candidates"].size(), 3u);
}

TEST_F(SignaturesTest, ASubstitutedEncryptionKey) {
  // The stranger could decrypt samples under this key.
  const Bytes theirs = Read(W("owner/stranger/encryption.key"));
  const std::string folder = Folder("client/substituted", "encryption.key", theirs);
  Refused(kHeft, Encrypt("client/no.ct", folder), "signed by an unknown key-owner");
  // Without its signature, and with a false one.
  Folder("client/plain", "encryption.key", Inner(W("owner/stranger/encryption.key")));
  Refused(kHeft, Encrypt("client/no.ct", "client/plain"), "not signed");
  Bytes pasted = Read(W("owner/keys/encryption.key"));
  const Bytes other = Inner(W("owner/stranger/encryption.key"));
  ASSERT_EQ(pasted.size(), theirs.size());
  std::copy(other.begin(), other.end(), pasted.end() - sizeof(Hash) - other.size());
  Folder("client/pasted", "encryption.key", Reseal(pasted));
  Refused(kHeft, Encrypt("client/no.ct", "client/pasted"), "its signature is false");
  // A folder without a trust file.
  std::filesystem::create_directories(W("client/lonely"));
  Write("client/lonely/encryption.key", theirs);
  Refused(kHeft, Encrypt("client/no.ct", "client/lonely"), "put the key owner's trust.heft beside");
  Must(kHeft, Encrypt("client/unchecked.ct", "client/lonely", {"--unchecked"}));
}

TEST_F(SignaturesTest, SubstitutedEvaluationKeys) {
  const std::string folder =
      Folder("server/substituted", "evaluation.keys", Read(W("owner/stranger/evaluation.keys")));
  for (const char* subcommand : {"enrol", "identify", "verify"}) {
    Args more = {"--gallery", W("server/gallery")};
    if (subcommand != std::string("enrol")) more = Join(more, {"--out", W("server/no.ct")});
    if (subcommand == std::string("verify")) more = Join(more, {"--identity", "0"});
    Refused(kServer, Serve(subcommand, more, folder), "signed by an unknown key-owner");
  }
  Folder("server/plain", "evaluation.keys", Inner(W("owner/keys/evaluation.keys")));
  Refused(kServer, Serve("enrol", {"--gallery", W("server/gallery")}, "server/plain"),
          "not signed");
  // Another file of the same owner instead of the right one.
  Folder("server/swapped", "evaluation.keys", Read(W("owner/keys/encryption.key")));
  Refused(kServer, Serve("enrol", {"--gallery", W("server/gallery")}, "server/swapped"),
          "encryption key, not evaluation keys");
}

// The keys for enrolment and verification are a file of their own.
TEST_F(SignaturesTest, SubstitutedEnrolmentKeys) {
  Folder("server/mixed", "evaluation.keys", Read(W("owner/keys/evaluation.keys")));
  Write("server/mixed/enrolment.keys", Read(W("owner/stranger/enrolment.keys")));
  const std::string trust = W("server/mixed/trust.heft");
  const Args enrol = Serve("enrol", {"--gallery", W("server/mixed-gallery")}, "server/mixed");
  Refused(kServer, enrol, "enrolment.keys: signed by an unknown key-owner");
  // Files of two trusted owners do not fit each other either.
  const auto stranger = Trust::Load(W("owner/stranger/trust.heft"));
  ASSERT_TRUE(stranger.ok());
  Must(kHeft, {"trust", "add", "--trust", trust, "--role", "key-owner", "--key",
               HexString(stranger->keys(Role::kKeyOwner).at(0).key)});
  Refused(kServer, enrol, "signed by another key owner");
}

TEST_F(SignaturesTest, ARelabelledReply) {
  Must(kServer, Serve("verify", {"--gallery", W("server/gallery"), "--identity", "3", "--out",
                                 W("server/claim.ct")}));
  const Bytes good = Read(W("server/claim.ct"));
  const Bytes inner = Inner(W("server/claim.ct"));
  const size_t start = good.size() - sizeof(Hash) - inner.size();
  // The claimed identity, its name and the probe's label are each a "3" or a "0" after its length.
  size_t changed = 0;
  for (size_t at = kEnvelopeHeaderSize + 48; at < kEnvelopeHeaderSize + 110; ++at) {
    if (inner[at] != '0' && inner[at] != '3') continue;
    Bytes label = inner;
    label[at] = '7';
    const Bytes sealed = Reseal(label);
    Bytes whole = good;
    std::copy(sealed.begin(), sealed.end(), whole.begin() + static_cast<long>(start));
    Refused(kHeft, Decrypt(Write("server/relabelled.ct", Reseal(whole))), "its signature is false");
    ++changed;
  }
  EXPECT_GE(changed, 3u) << "the claim, its name and the probe's label";
}

TEST_F(SignaturesTest, AReplayedReplyAfterItsTime) {
  const uint64_t now = UnixTime();
  Refused(kHeft,
          Decrypt(SignedReply("server/old.ct", ServerKey(),
                              {.role = Role::kServer, .issued = now - 7200, .expires = now - 10})),
          "expired at");
  Refused(kHeft,
          Decrypt(SignedReply("server/early.ct", ServerKey(),
                              {.role = Role::kServer, .issued = now + 7200})),
          "not valid yet");
  // The server's own answers expire.
  const auto check = Must(kHeft, {"inspect", W("server/scores.ct")})["signed"];
  const auto time = [&](const char* name) {
    return *ParseExpiry(check[name].get<std::string>(), 0);
  };
  EXPECT_EQ(time("expires"), time("issued") + 3600);
}

TEST_F(SignaturesTest, AReplyOfAnotherGallery) {
  const std::string id = Must(kServer, {"inspect", W("server/gallery")})["gallery_id"];
  const std::string other = Must(kServer, {"inspect", W("server/other")})["gallery_id"];
  EXPECT_NE(id, other);
  Must(kServer, Join(Identify("server/other.ct", "server/other"), {"--degree-two"}));
  Refused(kHeft, Decrypt("server/other.ct", {"--gallery-id", id}), "of another gallery, " + other);
  Must(kHeft, Decrypt("server/other.ct", {"--gallery-id", other}));
  // A gallery pinned in the trust file.
  std::filesystem::copy(Trusted(), W("pinned.heft"));
  Unpin(W("pinned.heft"));
  Must(kHeft, {"trust", "add", "--trust", W("pinned.heft"), "--gallery", id});
  Refused(kHeft, Decrypt("server/other.ct", {"--trust", W("pinned.heft")}),
          "of another gallery, " + other);
  Must(kHeft, Decrypt("server/scores.ct", {"--trust", W("pinned.heft")}));
  Must(kHeft,
       {"trust", "add", "--trust", W("pinned.heft"), "--gallery", id, "--generation", "1000"});
  Refused(kHeft, Decrypt("server/scores.ct", {"--trust", W("pinned.heft")}), "older than 1000");
}

TEST_F(SignaturesTest, AReplyOfAnotherSigner) {
  const SigningKey nobody = *SigningKey::Load(W("nobody.key"));
  const SigningKey client = *SigningKey::Load(W("client.key"));
  const Statement statement = {.role = Role::kServer};
  Refused(kHeft, Decrypt(SignedReply("server/nobody.ct", nobody, statement)),
          "signed by an unknown server");
  // A client's key listed as a client, and as a server.
  std::filesystem::copy(Trusted(), W("clients.heft"));
  Must(kHeft, {"trust", "add", "--trust", W("clients.heft"), "--role", "client", "--key",
               W("client.pub")});
  const Args trust = {"--trust", W("clients.heft")};
  Refused(kHeft, Decrypt(SignedReply("server/client.ct", client, statement), trust),
          "lists as client, not as server");
  Refused(kHeft, Decrypt(SignedReply("server/client.ct", client, {.role = Role::kClient}), trust),
          "signed by a client");
  // A server that is no longer trusted.
  Must(kHeft,
       {"trust", "revoke", "--trust", W("clients.heft"), "--key", W("server/gallery/server.pub")});
  Refused(kHeft, Decrypt("server/scores.ct", trust), "which the trust file revokes");
}

TEST_F(SignaturesTest, AnUnsignedReply) {
  Refused(kHeft, Decrypt(Write("server/plain.ct", Inner(W("server/scores.ct")))), "not signed");
}

TEST_F(SignaturesTest, ADamagedStatement) {
  const Bytes good = Read(W("server/scores.ct"));
  const size_t statement = good.size() - sizeof(Hash) - Inner(W("server/scores.ct")).size();
  for (size_t at = kEnvelopeHeaderSize; at < statement; at += 2) {
    Bytes flipped = good;
    flipped[at] ^= 1;
    const std::string raw = Write("server/flipped.ct", flipped);
    Refused(kHeft, Decrypt(raw), "checksum mismatch");
    const std::string sealed = Write("server/flipped.ct", Reseal(flipped));
    // A changed kind is noticed at once; any other change makes the signature false.
    const bool kind = at > kEnvelopeHeaderSize && at < kEnvelopeHeaderSize + 5;
    Refused(kHeft, Decrypt(sealed), kind ? "but contains another kind" : "its signature is false");
  }
  for (const size_t size : {size_t{0}, size_t{10}, statement - 1, statement, good.size() - 1}) {
    Refused(kHeft,
            Decrypt(Write("server/cut.ct",
                          Bytes(good.begin(), good.begin() + static_cast<long>(size)))),
            size == 0                    ? "empty"
            : size < kEnvelopeHeaderSize ? "not a HEFT file"
                                         : "truncated");
  }
}

TEST_F(SignaturesTest, AReplyForAnotherOwner) {
  const auto trust = Trust::Load(W("owner/stranger/trust.heft"));
  ASSERT_TRUE(trust.ok());
  Refused(kHeft,
          Decrypt(SignedReply(
              "server/astray.ct", ServerKey(),
              {.role = Role::kServer, .audience = trust->keys(Role::kKeyOwner).at(0).key})),
          "made for another");
}

TEST_F(SignaturesTest, RequestsWhereClientsAreListed) {
  const std::string folder =
      Folder("server/strict", "evaluation.keys", Read(W("owner/keys/evaluation.keys")));
  Must(kHeft, {"trust", "add", "--trust", W(folder + "/trust.heft"), "--role", "client", "--key",
               W("client.pub"), "--name", "camera"});
  const Args ask = {"--gallery", W("server/gallery"), "--row", "4", "--out", W("server/asked.ct")};
  Refused(kServer, Serve("identify", ask, folder), "client/face.ct.probe: not signed");
  Must(kHeft, Encrypt("client/signed.ct", "owner/keys",
                      {"--for", "identification", "--sign", W("client.key"), "--to",
                       W("server/gallery/server.pub")}));
  Args asked = Serve("identify", ask, folder);
  std::ranges::replace(asked, ProbeOf(W("client/face.ct")), W("client/signed.ct"));
  Args nowhere = asked;
  std::ranges::replace(nowhere, W("server/asked.ct"), W("nowhere/asked.ct"));
  Refused(kServer, nowhere, W("nowhere/asked.ct"));  // and the request is not taken
  Must(kServer, asked);
  Refused(kServer, asked, "client/signed.ct: this request was taken before");
  const auto check = Must(kHeft, {"inspect", W("server/asked.ct")})["signed"];
  EXPECT_EQ(check["subject"], Slurp(W("client.pub")).substr(0, 64));
  const auto sent = Must(kHeft, {"inspect", W("client/signed.ct")})["signed"];
  EXPECT_EQ(check["nonce"], sent["nonce"]);
  // The answer is bound to its request.
  const Args request = {"--request", W("client/signed.ct"), "--row", "4"};
  Must(kHeft, Decrypt("server/asked.ct", request));
  Refused(kHeft, Decrypt("server/asked.ct", {"--request", W("client/signed.ct"), "--row", "3"}),
          "answers another request");
  Refused(kHeft,
          Decrypt("server/asked.ct", {"--request", ProbeOf(W("client/face.ct")), "--row", "4"}),
          "answers another request");
  // A request is for one server alone, and must come from a listed client.
  Args elsewhere = asked;
  for (std::string& arg : elsewhere) {
    if (arg == W("server/gallery")) arg = W("server/other");
  }
  Refused(kServer, elsewhere, "made for another");
  Must(kHeft, Encrypt("client/signed.ct", "owner/keys",
                      {"--for", "identification", "--sign", W("nobody.key")}));
  Refused(kServer, asked, "signed by an unknown client");
}

// A recorded request is sent again, many times at once: one of them is answered.
TEST_F(SignaturesTest, ARequestIsAnsweredOnce) {
  const std::string folder =
      Folder("server/once", "evaluation.keys", Read(W("owner/keys/evaluation.keys")));
  Write(folder + "/enrolment.keys", Read(W("owner/keys/enrolment.keys")));
  Must(kHeft, {"trust", "add", "--trust", W(folder + "/trust.heft"), "--role", "client", "--key",
               W("client.pub"), "--name", "camera"});
  Must(kHeft, Encrypt("client/recorded.ct", "owner/keys", {"--sign", W("client.key")}));
  const auto ask = [&](const std::string& subcommand, const std::string& gallery,
                       const Args& more) {
    Args args = Serve(subcommand, Join({"--gallery", W(gallery)}, more), folder);
    for (std::string& arg : args) {
      if (arg == W("client/face.ct")) arg = W("client/recorded.ct");
    }
    return args;
  };
  std::vector<std::unique_ptr<Process>> at_once;
  for (int i = 0; i < 4; ++i) {
    at_once.push_back(
        std::make_unique<Process>(kServer, ask("verify", "server/gallery",
                                               {"--row", "2", "--identity", "2", "--out",
                                                W("server/once-" + std::to_string(i) + ".ct")})));
  }
  int answered = 0;
  for (const auto& process : at_once) {
    const Finished run = process->Wait();
    answered += run.exit_code == 0 ? 1 : 0;
    if (run.exit_code == 0) continue;
    EXPECT_EQ(run.exit_code, kInput) << run.err;
    EXPECT_THAT(run.err, HasSubstr("taken before"));
  }
  EXPECT_EQ(answered, 1);
  // The request cannot be used later for another claim or for an enrolment either.
  Refused(kServer,
          ask("verify", "server/gallery",
              {"--row", "2", "--identity", "ann", "--out", W("server/once.ct")}),
          "taken before");
  Refused(kServer, ask("enrol", "server/gallery", {}), "taken before");
  // The other samples of the file were not answered yet.
  Must(kServer, ask("verify", "server/gallery",
                    {"--row", "3", "--identity", "3", "--out", W("server/once.ct")}));
  // A request without an end, or with one later than servers remember, is refused at once.
  Must(kHeft, Encrypt("client/recorded.ct", "owner/keys",
                      {"--sign", W("client.key"), "--valid-for", "0"}));
  Refused(kServer, ask("verify", "server/gallery", {"--identity", "3", "--out", W("server/no.ct")}),
          "longer than a server remembers");
}

// A file of another key spoils no other file of its request.
TEST_F(SignaturesTest, AFileOfAnotherKeyUsesUpNoRequest) {
  const std::string folder =
      Folder("server/mixed", "evaluation.keys", Read(W("owner/keys/evaluation.keys")));
  Write(folder + "/enrolment.keys", Read(W("owner/keys/enrolment.keys")));
  Must(kHeft, {"trust", "add", "--trust", W(folder + "/trust.heft"), "--role", "client", "--key",
               W("client.pub"), "--name", "camera"});
  Must(kHeft, Encrypt("client/right.ct", "owner/keys", {"--sign", W("client.key")}));
  Must(kHeft, Encrypt("client/wrong.ct", "owner/stranger", {"--sign", W("client.key")}));
  Args ask = Serve(
      "verify",
      {"--gallery", W("server/gallery"), "--identity", "2", "--row", "2", "--out", W("mixed.ct")},
      folder);
  for (std::string& arg : ask) {
    if (arg == W("client/face.ct")) arg = W("client/right.ct");
  }
  Refused(kServer, Join(ask, {"--in", W("client/wrong.ct")}), "made under another key");
  Must(kServer, ask);
  // So does an enrolment, and one into a gallery of another key.
  const Args gallery = {"--keys",  W("owner/stranger/evaluation.keys"), "--model", W("model.heft"),
                        "--trust", W("owner/stranger/trust.heft")};
  Must(kServer, Join({"gallery", "create", "--gallery", W("server/strangers")}, gallery));
  Must(kServer, Join({"gallery", "create", "--gallery", W("server/fresh")},
                     {"--keys", W(folder + "/evaluation.keys"), "--model", W("model.heft")}));
  Must(kHeft, Encrypt("client/new.ct", "owner/keys", {"--sign", W("client.key")}));
  const auto at = [&](const std::string& name, const Args& more = {}) {
    Args args = Serve("enrol", {"--gallery", W(name)}, folder);
    for (std::string& arg : args) {
      if (arg == W("client/face.ct")) arg = W("client/new.ct");
    }
    return Join(args, more);
  };
  Refused(kServer, at("server/fresh", {"--in", W("client/wrong.ct")}), "made under another key");
  Refused(kServer, at("server/strangers"), "another key");
  EXPECT_EQ(Must(kServer, at("server/fresh"))["repeated"], false);
}

TEST_F(SignaturesTest, ModelsWhereTrainersAreListed) {
  const std::string folder =
      Folder("client/strict", "encryption.key", Read(W("owner/keys/encryption.key")));
  Must(kHeft, {"trust", "add", "--trust", W(folder + "/trust.heft"), "--role", "trainer", "--key",
               W("trainer.pub")});
  Refused(kHeft, Encrypt("client/no.ct", folder), "model.heft: not signed");
  Must(kHeft, {"trust", "sign", "--key", W("trainer.key"), "--role", "trainer", "--in",
               W("model.heft"), "--out", W("signed.heft")});
  // The same at training.
  Must(kHeft, TrainArgs(W("data"), W("trained.heft"), {"--sign", W("trainer.key")}));
  EXPECT_EQ(Must(kHeft, {"inspect", W("trained.heft")})["signed"]["role"], "trainer");
  Args encrypt = Encrypt("client/again.ct", folder);
  encrypt[2] = W("signed.heft");
  Must(kHeft, encrypt);
}

TEST_F(SignaturesTest, ATrustFileThatAnybodyMayChange) {
  std::filesystem::copy(Trusted(), W("open.heft"));
  std::filesystem::permissions(W("open.heft"), std::filesystem::perms(0646));
  Refused(kHeft, Decrypt("server/scores.ct", {"--trust", W("open.heft")}), "chmod o-w");
}

TEST_F(SignaturesTest, WhatATrustFileHolds) {
  const auto list = Must(kHeft, {"inspect", Trusted()});
  EXPECT_EQ(list["key-owner"].size(), 1u);
  EXPECT_EQ(list["server"].size(), 2u);
  const auto believed =
      Must(kServer, {"inspect", "--trust", Trusted(), W("server/scores.ct")})["signed"];
  EXPECT_EQ(believed["believed"], true);
  EXPECT_EQ(believed["role"], "server");
  EXPECT_EQ(believed["kind"], "SCOR");
  Refused(kServer, {"inspect", "--trust", W("owner/stranger/trust.heft"), W("server/scores.ct")},
          "signed by an unknown server");
  Refused(kHeft, {"inspect", "--trust", Trusted(), W("model.heft")}, "not signed");
  const auto unchecked = Must(kHeft, {"inspect", W("server/scores.ct")})["signed"];
  EXPECT_EQ(unchecked["believed"], false);
  Refused(kHeft,
          {"trust", "add", "--trust", Trusted(), "--role", "server", "--key",
           W("server/gallery/server.pub")},
          "already");
  Refused(kHeft, {"trust", "new-key", "--out", W("client.key")}, "never overwritten");
}

// From pending into the gallery through both roles. No file on the way is accepted unsigned.
TEST_F(SignaturesTest, EnrolmentsWaitForTheKeyOwner) {
  const std::string gallery = W("server/waiting");
  const Args enrol = Serve("enrol", {"--gallery", gallery});
  const auto brought = Must(kServer, enrol);
  const Args again = Join(enrol, {"--quiet"});
  EXPECT_EQ(brought["templates"], 0);
  EXPECT_EQ(brought["pending"], brought["brought"]);
  Refused(kServer, again, "enrolled before");
  Believe(Trusted(), gallery);
  const auto at_server = [&](const std::string& subcommand, const Args& more) {
    return Join({subcommand, "--model", W("model.heft"), "--keys", W("owner/keys/evaluation.keys"),
                 "--gallery", gallery},
                more);
  };
  Must(kServer, at_server("pending", {"--out", W("pending.ct")}));
  const auto approve = [&](const std::string& in) {
    return Args{
        "answer", "--model", W("model.heft"), "--secret-key",     W("owner/keys/secret.key"),
        "--in",   W(in),     "--out",         W("admission.heft")};
  };
  Refused(kHeft, approve(Write("bare.ct", Inner(W("pending.ct")))), "not signed");
  const auto answer = Must(kHeft, approve("pending.ct"));
  EXPECT_EQ(answer["approved"], brought["brought"]);
  EXPECT_TRUE(answer["rejected"].empty());
  Refused(kServer, at_server("apply", {"--in", W(Write("bare.heft", Inner(W("admission.heft"))))}),
          "not signed");
  const auto done = Must(kServer, at_server("apply", {"--in", W("admission.heft")}));
  EXPECT_EQ(done["templates"], answer["approved"]);
  EXPECT_EQ(done["pending"], 0);
  Refused(kServer, again, "enrolled before");
}

}  // namespace
}  // namespace heft::e2e
