// SPDX-License-Identifier: Apache-2.0
// A client that sends many enrolments, with the real programs and default flags.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/bytes.h"
#include "heft/trust.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr uint64_t kLimit = uint64_t{512} << 20;  // docs/gallery.md
constexpr int kPeopleOfOneRequest = 24;           // of one request, in bulk

// A model with so many dimensions that the templates of one request in bulk take many bytes.
class PendingLimitTest : public ::testing::Test {
 protected:
  PendingLimitTest() {
    Must(kHeft, {"synth", "--out", w_("data"), "--jitter", "1", "--identities",
                 std::to_string(kPeopleOfOneRequest), "--samples", "2", "--dimensions", "16"});
    Must(kHeft, {"train", "--data", w_("data"), "--method", "none", "--gamma", "1024", "--out",
                 w_("owner/model.heft")});
    Must(kHeft, {"keygen", "--model", w_("owner/model.heft"), "--out", w_("owner/keys")});
    for (const char* client : {"ann", "ben"}) {
      Must(kHeft, {"trust", "new-key", "--out", Key(client)});
      Must(kHeft, {"trust", "add", "--trust", w_("owner/keys/trust.heft"), "--role", "client",
                   "--key", w_(std::string("client/") + client + ".pub"), "--name", client});
    }
    data_ = *LoadDataset(w_("data"));
    std::vector<int> rows;
    for (int i = 0; i < kPeopleOfOneRequest; ++i) rows.push_back(2 * i);
    WriteRows(data_, "face", rows, w_("rows.npy"), w_("labels.txt"));
  }

  std::string Key(const std::string& client) const { return w_("client/" + client + ".key"); }
  Args Server(const std::string& subcommand) const {
    return {subcommand,
            "--model",
            w_("owner/model.heft"),
            "--keys",
            w_("owner/keys/evaluation.keys"),
            "--gallery",
            w_("server/gallery")};
  }
  // New encryptions of the same people: no sample is sent again.
  Finished Bring(const std::string& client) const {
    Must(kHeft,
         {"encrypt", "--model", w_("owner/model.heft"), "--key", w_("owner/keys/encryption.key"),
          "--modality", "face", "--in", w_("rows.npy"), "--labels", w_("labels.txt"), "--bulk",
          "--sign", Key(client), "--out", w_("client/samples.ct")});
    Args args = Server("enrol");
    args.insert(args.end(), {"--in", w_("client/samples.ct"), "--quiet"});
    return RunProgram(kServer, args);
  }
  json Pending() const {
    Args args = Server("pending");
    args.insert(args.end(), {"--out", w_("pending.ct")});
    return Must(kServer, args)["pending"];
  }

  Workplace w_;
  Dataset data_;
};

TEST_F(PendingLimitTest, OneClientFillsItsOwnShareOfPendingEnrolments) {
  Finished last;
  uint64_t taken = 0;
  while ((last = Bring("ann")).exit_code == 0 && taken < 100) ++taken;
  ASSERT_EQ(last.exit_code, kBudget) << last.err;
  const SigningKey ann = *SigningKey::Load(Key("ann"));
  const std::string name = HexString(ann.public_key());
  EXPECT_THAT(last.err, HasSubstr("client " + name + " has"));
  EXPECT_THAT(last.err, HasSubstr("the 512 MiB of one client"));
  EXPECT_THAT(last.err, HasSubstr("let the key owner decide them first"));
  const json pending = Pending();
  ASSERT_EQ(pending.size(), taken);
  uint64_t bytes = 0;
  for (const json& entry : pending) {
    EXPECT_EQ(entry["client"], name);
    EXPECT_EQ(entry["identities"].size(), size_t{kPeopleOfOneRequest});
    bytes += entry["bytes"].get<uint64_t>();
  }
  EXPECT_LE(bytes, kLimit);
  EXPECT_GT(bytes + pending[0]["bytes"].get<uint64_t>(), kLimit);
  // Other clients are not affected, and what is decided makes room.
  EXPECT_EQ(Bring("ben").exit_code, 0);
  Args remove = Server("remove");
  remove.insert(remove.begin(), "gallery");
  remove.insert(remove.end(), {"--entry", pending[0]["entry"].get<std::string>()});
  Must(kServer, remove);
  EXPECT_EQ(Bring("ann").exit_code, 0);
  EXPECT_EQ(Pending().size(), taken + 1) << "one of them ben's";
}

}  // namespace
}  // namespace heft::e2e
