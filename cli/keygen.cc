// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "heft/inspect.h"
#include "heft/key_set.h"
#include "program/common.h"
#include "program/owner/key_options.h"

namespace heft::cli {
namespace {

struct KeygenFlags {
  std::string model, out, secret_key;
  SealOptions seal;
  std::vector<std::string> passphrase_files;  // one, or one for each owner
  uint32_t owners = 1, threshold = 0;
  std::string act;                    // "join", or nothing
  std::vector<std::string> messages;  // of one round of a ceremony without a dealer
};

// Passphrases of the owners' shares: from their files, or asked for one after another.
std::vector<PassphraseSource> OwnerPassphrases(const KeygenFlags& options) {
  std::vector<PassphraseSource> out;
  for (const std::string& file : options.passphrase_files) {
    out.push_back([file] { return ReadPassphrase(file, /*confirm=*/true); });
  }
  if (options.seal.ask) out.resize(options.owners, NewPassphrase(options.seal));
  return out;
}

absl::Status RunCeremony(const Common& common, const KeygenFlags& options, const Model& model) {
  const std::vector<PassphraseSource> passphrases = OwnerPassphrases(options);
  HEFT_ASSIGN_OR_RETURN(const SharedKeySet set,
                        MakeSharedKeySet(model, options.out, options.owners, options.threshold,
                                         passphrases, common.monitor));
  if (passphrases.empty()) WarnOfUnsealed(common, options.seal);
  std::string text = KeySetText(set.keys);
  for (const std::string& share : set.shares) {
    absl::StrAppend(&text, "share (for its owner, keep it secret): ", share, ", ",
                    HumanBytes(set.share_bytes), "\n");
  }
  absl::StrAppend(&text, "record (for all owners): ", set.ceremony, "\n", options.threshold, " of ",
                  options.owners, " owners open; the secret key itself was wiped\n");
  Print(common, SharedKeySetJson(set), text);
  return absl::OkStatus();
}

// One step of a ceremony without a dealer.
absl::Status RunJoin(const Common& common, const KeygenFlags& options, const Model& model) {
  const uint32_t owners = options.owners > 1 ? options.owners : 0;
  PassphraseSource passphrase = NewPassphrase(options.seal);
  if (!options.messages.empty() && (options.seal.ask || !options.seal.file.empty())) {
    passphrase = [file = options.seal.file] { return ReadPassphrase(file, /*confirm=*/false); };
  }
  HEFT_ASSIGN_OR_RETURN(
      const JoinStep step,
      JoinKeySet(model, options.out, owners, options.messages, passphrase, common.monitor));
  if (options.messages.empty()) WarnOfUnsealed(common, options.seal);
  std::string text;
  if (step.message.empty()) {
    text = absl::StrCat(KeySetText(step.keys), "share of owner ", step.owner,
                        " (keep it secret): ", step.share, "\nrecord: ", step.ceremony, "\nall ",
                        step.owners, " owners open; compare the digest of heft share --keys\n");
  } else {
    text = absl::StrCat("message of round ", step.round, " of 5, for all owners: ", step.message,
                        ", ", HumanBytes(step.message_bytes),
                        "\nnext, with the messages of all owners: heft keygen join --in\n");
  }
  Print(common, JoinStepJson(step), text);
  return absl::OkStatus();
}

// New public keys for the secret key that is given.
absl::StatusOr<KeySet> MakeForExisting(const Common& common, const KeygenFlags& options,
                                       const Model& model) {
  KeyOptions existing;
  existing.secret_key = options.secret_key;
  existing.passphrase_file = options.seal.file;
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadKeyOwner(model, existing));
  return MakePublicKeys(owner, options.out, common.monitor);
}

absl::Status CheckArguments(const KeygenFlags& options) {
  const bool join = !options.act.empty();
  if (join && options.messages.empty() && options.owners < 2) {
    return WrongUsage(
        "heft keygen join: give --owners to begin, or --in with the messages of all owners");
  }
  if (join && options.owners > 3) {
    return WrongUsage("heft keygen join: at most 3 owners can make a key without a dealer");
  }
  if (join && options.threshold != 0 && options.threshold != options.owners) {
    return WrongUsage("without a dealer all --owners open: leave out --threshold");
  }
  if (!join && ((options.owners > 1) != (options.threshold > 1) ||
                (options.owners > 1 && options.threshold > options.owners))) {
    return WrongUsage("a shared key has --owners 2 to 5 and --threshold, how many of them open");
  }
  const size_t files = options.passphrase_files.size(), keys = join ? 1 : options.owners;
  if (files == 0 || files == keys) return absl::OkStatus();
  return WrongUsage(
      absl::StrCat(files, " times --passphrase-file: give one for each of ", keys, " secret keys"));
}

absl::Status RunKeygen(const Common& common, const KeygenFlags& given) {
  HEFT_RETURN_IF_ERROR(CheckArguments(given));
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(given.model));
  const bool join = !given.act.empty();
  if (given.owners > 1 && !join) return RunCeremony(common, given, model);
  KeygenFlags options = given;
  if (!options.passphrase_files.empty()) options.seal.file = options.passphrase_files[0];
  if (join) return RunJoin(common, options, model);
  HEFT_ASSIGN_OR_RETURN(
      const KeySet set,
      options.secret_key.empty()
          ? MakeKeySet(model, options.out, NewPassphrase(options.seal), common.monitor)
          : MakeForExisting(common, options, model));
  if (options.secret_key.empty()) WarnOfUnsealed(common, options.seal);
  Print(common, KeySetJson(set), KeySetText(set));
  return absl::OkStatus();
}

}  // namespace

void AddKeygen(Command app) {
  const auto [command, options] =
      AddCommand(app, "keygen", "make the keys for a model (key owner)",
                 "heft keygen --model m.heft --out keys --passphrase-file passphrase.txt\n"
                 "  heft keygen join --model m.heft --out mine --owners 2\n"
                 "  heft keygen join --model m.heft --out mine --in mine/round-1.msg 2.msg",
                 RunKeygen);
  const Option act =
      command
          .Add("act", &options->act,
               "join: one step of making a key with other owners, without a dealer; all of them "
               "open")
          .Choices({"join"});
  command.Add("-m,--model", &options->model, "model file").Required();
  command
      .Add("-o,--out", &options->out,
           "folder for secret.key, encryption.key, evaluation.keys and "
           "enrolment.keys")
      .Required();
  AddSealOptions(command, "", &options->seal, &options->passphrase_files);
  const Option secret = command.Add(
      "--secret-key", &options->secret_key,
      "make new encryption and evaluation keys for this secret key, for a model with other "
      "rotations");
  act.Excludes(secret);
  const Option owners =
      command
          .Add("--owners", &options->owners,
               "share the new key among this many owners, OUT/owner-1 and so on; the model must be "
               "of profile flooded")
          .Range(1, 5)
          .Excludes(secret);
  command.Add("--threshold", &options->threshold, "how many owners an opening takes")
      .Range(2, 3)
      .Needs(owners);
  command
      .Add("-i,--in", &options->messages,
           "join: the messages of the last round of all owners, this one's among them")
      .Needs(act);
}

}  // namespace heft::cli
