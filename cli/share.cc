// SPDX-License-Identifier: Apache-2.0
// share: checks an owner's share, and makes new shares by messages between the owners.
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "heft/key_set.h"
#include "heft/results.h"
#include "program/common.h"
#include "program/owner/key_options.h"
#include "program/server_options.h"
#include "program/trust_options.h"

namespace heft::cli {
namespace {

struct ShareFlags {
  KeyOptions key;
  SealOptions seal;
  std::vector<uint32_t> owners;
  std::vector<std::string> messages;
  std::string keys, out, record, newcomer;
  uint32_t replace = 0;
};

absl::Status Give(const Common& common, const ShareFlags& options) {
  if (options.replace > 0 && options.newcomer.empty()) {
    return WrongUsage("--replace: give --key, the successor's signing key");
  }
  std::error_code unreadable;
  if (std::filesystem::exists(options.out, unreadable)) {
    return absl::AlreadyExistsError(
        absl::StrCat(options.out,
                     " exists: messages differ from each other, and all owners must "
                     "use the same one. Choose another file"));
  }
  Replacement replacement;
  if (options.replace > 0) {
    replacement.owner = options.replace;
    HEFT_ASSIGN_OR_RETURN(replacement.signer, ReadSignerKey(options.newcomer));
  }
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadKeyOwner(options.key));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> message,
                        GiveNewShares(owner, options.owners, replacement));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, message));
  Print(common, {{"out", options.out}, {"bytes", message.size()}},
        absl::StrCat("message, for all owners: ", options.out));
  return absl::OkStatus();
}

absl::Status Take(const Common& common, const ShareFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const auto given, ReadSampleFiles(options.messages, kMaxReplySize));
  std::vector<ReplyFile> messages;
  for (const SampleFile& file : given) messages.push_back({file.bytes, file.name});
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadKeyOwner(options.key));
  HEFT_RETURN_IF_ERROR(TakeNewShare(owner, messages, options.out, NewPassphrase(options.seal)));
  WarnOfUnsealed(common, options.seal);
  Print(common, {{"out", options.out}},
        absl::StrCat("new share: ", options.out,
                     "; when all owners have theirs, it takes the place of ",
                     options.key.secret_key, ", which you keep until the new one has opened"));
  return absl::OkStatus();
}

absl::Status Begin(const Common& common, const ShareFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.key.model));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> record, ReadFile(options.record, 1 << 16));
  HEFT_ASSIGN_OR_RETURN(
      const SignerKey signer,
      MakeBlankShare(model, record, options.replace, options.out, NewPassphrase(options.seal)));
  WarnOfUnsealed(common, options.seal);
  Print(common, {{"out", options.out}, {"signer", HexString(signer)}},
        absl::StrCat("share of nothing yet: ", options.out, "\nfor the other owners: --replace ",
                     options.replace, " --key ", HexString(signer)));
  return absl::OkStatus();
}

// Holds the share and the public keys against their ceremony.
absl::Status CheckShares(const Common& common, const ShareFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadKeyOwner(options.key));
  HEFT_ASSIGN_OR_RETURN(const CeremonyCheck check, CheckCeremony(owner, options.keys));
  std::string text =
      absl::StrCat("share of owner ", check.shared.owner, " of ", check.shared.owners, "; ",
                   check.shared.threshold, " open\nkey ", HexString(check.key_id),
                   check.joint ? ", made without a dealer, public keys signed by " : ", dealt by ",
                   HexString(check.dealer), ", renewed ", check.shared.renewal,
                   " times, last signed ", UtcText(check.time), "\nrecord ",
                   HexString(check.digest), " (the same for all owners: compare)\n");
  for (size_t i = 0; i < check.owners.size(); ++i) {
    absl::StrAppend(&text, "owner ", i + 1, " signs with ", HexString(check.owners[i]), "\n");
  }
  Print(common, CeremonyCheckJson(check), text);
  return absl::OkStatus();
}

absl::Status RunShare(const Common& common, const ShareFlags& options) {
  if (!options.record.empty()) {
    if (options.replace == 0 || options.out.empty()) {
      return WrongUsage("--record: give --replace, the owner who is replaced, and --out");
    }
    return Begin(common, options);
  }
  if (options.key.secret_key.empty()) {
    return WrongUsage("give --secret-key, this owner's share");
  }
  if (!options.keys.empty()) return CheckShares(common, options);
  if (options.owners.empty() && options.messages.empty()) {
    return WrongUsage(
        "give --keys to check the share, --owners to make a message, --in to make a new share of "
        "all messages, or --record to begin in the place of another owner");
  }
  if (options.out.empty()) return WrongUsage("give --out, the file to write");
  return options.owners.empty() ? Take(common, options) : Give(common, options);
}

}  // namespace

void AddShare(Command app) {
  const auto [command, options] = AddCommand(
      app, "share",
      "check a share of a key, renew the shares, or replace one of the owners (key owner)",
      "heft share --model m.heft --secret-key share.key --keys keys\n"
      "  heft share --model m.heft --secret-key share.key --owners 1 2 --out 1.msg\n"
      "  heft share --model m.heft --secret-key share.key --in 1.msg 2.msg --out new.key",
      RunShare);
  command.Add("-m,--model", &options->key.model, "model file").Required();
  const Option secret =
      command.Add("--secret-key", &options->key.secret_key, "the owner's present share");
  command.Add("--passphrase-file", &options->key.passphrase_file,
              "first line: passphrase of the present share");
  const Option keys =
      command.Add("--keys", &options->keys,
                  "check the share, and the public keys in this folder, against their ceremony");
  const Option owners =
      command
          .Add("--owners", &options->owners,
               "give a message: these owners do so, this one among them, as many as open")
          .Excludes(keys);
  const Option messages =
      command.Add("-i,--in", &options->messages, "make the new share: the messages of those owners")
          .Excludes(owners)
          .Excludes(keys);
  const Option record = command
                            .Add("--record", &options->record,
                                 "begin in the place of --replace: ceremony.heft of the key")
                            .Excludes(owners)
                            .Excludes(messages)
                            .Excludes(keys)
                            .Excludes(secret);
  const Option replace =
      command.Add("--replace", &options->replace, "the owner whose place is taken").Range(1, 5);
  command.Add("-k,--key", &options->newcomer, "the signing key of who takes it (64 digits)")
      .Needs(replace)
      .Excludes(record);
  command.Add("-o,--out", &options->out, "the message, or the new share").Excludes(keys);
  AddSealOptions(command, "new-", &options->seal);
}

}  // namespace heft::cli
