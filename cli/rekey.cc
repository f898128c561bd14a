// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "heft/inspect.h"
#include "heft/key_set.h"
#include "program/common.h"
#include "program/owner/key_options.h"
#include "program/server_options.h"
#include "program/trust_options.h"

namespace heft::cli {
namespace {

struct RekeyFlags {
  KeyOptions key;
  std::string out;
  SealOptions seal;
  TrustOptions trust;
  std::string to;                  // of a shared key: this owner's share of the new one
  std::vector<uint32_t> owners;    // gives a part, for the others of these
  std::vector<std::string> parts;  // of other owners
};

// One owner's step from a shared key to another one.
absl::Status RekeyTogether(const Common& common, const RekeyFlags& options) {
  if (options.owners.empty() == options.parts.empty()) {
    return WrongUsage(
        "--to: give --owners, to make a part of the re-keying key, or --part, the parts of the "
        "other owners");
  }
  KeyOptions next = options.key;
  next.secret_key = options.to;
  next.passphrase_file = options.seal.file;
  HEFT_ASSIGN_OR_RETURN(const KeyOwner old_share, LoadKeyOwner(options.key));
  HEFT_ASSIGN_OR_RETURN(const KeyOwner new_share, LoadKeyOwner(next));
  std::string text;
  if (!options.owners.empty()) {
    HEFT_RETURN_IF_ERROR(GiveRekeyingPart(old_share, new_share, options.owners, options.out));
    text = "part of the re-keying key, for the owner who combines: ";
  } else {
    HEFT_ASSIGN_OR_RETURN(const auto given, ReadSampleFiles(options.parts, kMaxReplySize));
    std::vector<ReplyFile> parts;
    for (const SampleFile& file : given) parts.push_back({file.bytes, file.name});
    HEFT_RETURN_IF_ERROR(CombineRekeyingKey(old_share, new_share, parts, options.out));
    text = "re-keying key (for the server): ";
  }
  Print(common,
        {{"old_key_id", HexString(old_share.key_id())},
         {"key_id", HexString(new_share.key_id())},
         {"out", options.out}},
        absl::StrCat(text, options.out, "\nthis share of key ", HexString(old_share.key_id()),
                     " is revoked: destroy it once every gallery has moved"));
  return absl::OkStatus();
}

absl::Status RunRekey(const Common& common, const RekeyFlags& options) {
  if (!options.to.empty()) return RekeyTogether(common, options);
  // The new key's owner trusts the same signers as the old key's.
  HEFT_ASSIGN_OR_RETURN(auto trust, LoadTrust(options.trust, options.key.secret_key));
  HEFT_ASSIGN_OR_RETURN(KeyOwner old, LoadKeyOwner(options.key));
  if (trust) HEFT_RETURN_IF_ERROR(old.RequireSigned(*std::move(trust)));
  HEFT_ASSIGN_OR_RETURN(const KeySet set,
                        RenewKey(old, options.out, NewPassphrase(options.seal), common.monitor));
  WarnOfUnsealed(common, options.seal);
  Json json = {{"old_key_id", HexString(old.key_id())}};
  json.update(KeySetJson(set));
  Print(common, json,
        absl::StrCat(KeySetText(set), "re-keying key (for the server): ", set.rekeying_key, ", ",
                     HumanBytes(set.rekeying_key_bytes), "\nkey ", HexString(old.key_id()),
                     " is revoked: destroy it once every gallery has moved"));
  return absl::OkStatus();
}

}  // namespace

void AddRekey(Command app) {
  const auto [command, options] = AddCommand(
      app, "rekey",
      "replace a secret key, and make the key that moves galleries to the new one (key owner)",
      "heft rekey --model m.heft --secret-key keys/secret.key --out keys-2 "
      "--new-passphrase-file passphrase.txt\n"
      "  heft rekey --model m.heft --secret-key old/share.key --to new/share.key --owners 1 2 "
      "--out 1.part",
      RunRekey);
  AddKeyOptions(command, &options->key, "the old secret key, which is revoked");
  command
      .Add("-o,--out", &options->out,
           "folder for the new secret.key, encryption.key, evaluation.keys, and "
           "rekeying.key; with --to the file to write")
      .Required();
  const Option to = command.Add("--to", &options->to,
                                "shared key: this owner's share of the new key, which is there");
  const Option owners =
      command
          .Add("--owners", &options->owners,
               "shared key: make a part of the re-keying key for one of these owners, this one "
               "among them")
          .Needs(to);
  command.Add("--part", &options->parts, "shared key: the parts of the other owners")
      .Needs(to)
      .Excludes(owners);
  AddSealOptions(command, "new-", &options->seal);
  AddTrustOptions(command, &options->trust, "the old secret key");
}

}  // namespace heft::cli
