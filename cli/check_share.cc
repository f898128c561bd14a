// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "heft/key_set.h"
#include "heft/results.h"
#include "program/common.h"
#include "program/owner/key_options.h"

namespace heft::cli {
namespace {

struct Options {
  KeyOptions key;
  std::string keys;
};

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadKeyOwner(options.key));
  HEFT_ASSIGN_OR_RETURN(const CeremonyCheck check, CheckCeremony(owner, options.keys));
  std::string text = absl::StrCat(
      "share of owner ", check.shared.owner, " of ", check.shared.owners, "; ",
      check.shared.threshold, " open\nkey ", HexString(check.key_id), ", dealt ",
      UtcText(check.time), " by ", HexString(check.dealer), ", renewed ", check.shared.renewal,
      " times\nrecord ", HexString(check.digest), " (the same for all owners: compare)\n");
  for (size_t i = 0; i < check.owners.size(); ++i) {
    absl::StrAppend(&text, "owner ", i + 1, " signs with ", HexString(check.owners[i]), "\n");
  }
  Print(common, CeremonyCheckJson(check), text);
  return absl::OkStatus();
}

}  // namespace

void AddCheckShare(Command app) {
  const auto [command, options] = AddCommand(
      app, "check-share", "check a share and the public keys against its ceremony (key owner)",
      "heft check-share --model m.heft --secret-key share.key --keys keys", Run);
  AddKeyOptions(command, &options->key, "the owner's share");
  command.Add("--keys", &options->keys, "folder of the public keys").Required();
}

}  // namespace heft::cli
