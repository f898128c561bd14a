// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "heft/inspect.h"
#include "program/common.h"
#include "program/owner/key_options.h"
#include "program/trust_options.h"

namespace heft::cli {
namespace {

struct RekeyFlags {
  KeyOptions key;
  std::string out;
  SealOptions seal;
  TrustOptions trust;
};

absl::Status RunRekey(const Common& common, const RekeyFlags& options) {
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
      "--new-passphrase-file passphrase.txt",
      RunRekey);
  AddKeyOptions(command, &options->key, "the old secret key, which is revoked");
  command
      .Add("-o,--out", &options->out,
           "folder for the new secret.key, encryption.key, evaluation.keys, and "
           "rekeying.key")
      .Required();
  AddSealOptions(command, "new-", &options->seal);
  AddTrustOptions(command, &options->trust, "the old secret key");
}

}  // namespace heft::cli
