// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "heft/client.h"
#include "heft/inspect.h"
#include "program/common.h"
#include "program/owner/key_options.h"

namespace heft::cli {
namespace {

constexpr size_t kTriples = 3;  // sets of three canaries, unless names say how many

struct CanaryFlags {
  KeyOptions key;
  std::string out, names, require, encryption_key;
};

// Encrypted as a client would, a file a modality: NAME-MODALITY.ct.
absl::Status WritePerson(const Model& model, const Client& client, const CanarySet::Person& person,
                         SampleUse use, const std::string& name, NewFolder* folder) {
  for (size_t m = 0; m < model.modalities.size(); ++m) {
    const std::string& modality = model.modalities[m].name;
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                          client.Encrypt(modality, person.vectors[m], person.label, use));
    HEFT_RETURN_IF_ERROR(folder->Write(absl::StrCat(name, "-", modality, ".ct"), bytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ReadNames(const std::string& path) {
  std::vector<std::string> names;
  if (path.empty()) return names;
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, 1 << 20));
  const std::string text(bytes.begin(), bytes.end());
  for (const auto line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    names.emplace_back(line);
  }
  return names;
}

// A share makes no public key.
absl::StatusOr<Client> ClientFor(const CanaryFlags& options, const Model& model,
                                 const KeyOwner& owner) {
  if (options.encryption_key.empty()) {
    if (!owner.shared()) return Client::Create(model, owner.EncryptionKey());
    return absl::InvalidArgumentError("with a share, give --key, the encryption key");
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> key,
                        ReadFile(options.encryption_key, kMaxKeysSize));
  HEFT_ASSIGN_OR_RETURN(const FileInfo info, InspectFile(key, options.encryption_key));
  if (info.key_id != owner.key_id()) {
    return absl::FailedPreconditionError(
        absl::StrCat(options.encryption_key, ": not the encryption key of this secret key"));
  }
  return Client::Create(model, key);
}

absl::Status RunMake(const Common& common, const CanaryFlags& options, const Model& model,
                     const KeyOwner& owner) {
  HEFT_ASSIGN_OR_RETURN(std::vector<std::string> names, ReadNames(options.names));
  const size_t triples = names.empty() ? kTriples : names.size() / 3;
  HEFT_ASSIGN_OR_RETURN(const CanarySet set, owner.MakeCanaries(triples, std::move(names)));
  HEFT_ASSIGN_OR_RETURN(const Client client, ClientFor(options, model, owner));
  HEFT_ASSIGN_OR_RETURN(NewFolder folder, NewFolder::Create(options.out));
  Json people = Json::array(), probes = Json::array();
  for (size_t i = 0; i < set.people.size(); ++i) {
    const std::string name = absl::StrCat("enrol-", i + 1);
    HEFT_RETURN_IF_ERROR(
        WritePerson(model, client, set.people[i], SampleUse::kEnrolment, name, &folder));
    people.push_back({{"identity", set.people[i].label}, {"files", name}});
  }
  for (size_t i = 0; i < set.probes.size(); ++i) {
    const std::string probe = absl::StrCat("probe-", i + 1), claim = absl::StrCat("claim-", i + 1);
    HEFT_RETURN_IF_ERROR(
        WritePerson(model, client, set.probes[i], SampleUse::kIdentification, probe, &folder));
    HEFT_RETURN_IF_ERROR(
        WritePerson(model, client, set.probes[i], SampleUse::kEnrolment, claim, &folder));
    probes.push_back({{"identification", probe}, {"verification", claim}});
  }
  HEFT_RETURN_IF_ERROR(folder.Write("canaries.heft", set.file));
  HEFT_RETURN_IF_ERROR(folder.Commit());
  Print(common, {{"out", options.out}, {"people", people}, {"probes", probes}},
        absl::StrCat(set.people.size(), " canaries, ", set.probes.size(),
                     " probes: let a client enrol them among others, one person at a time. After "
                     "admission run heft canary --require ",
                     options.out, "/canaries.heft"));
  return absl::OkStatus();
}

absl::Status RunCanary(const Common& common, const CanaryFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.key.model));
  HEFT_ASSIGN_OR_RETURN(KeyOwner owner, LoadKeyOwner(model, options.key));
  if (!options.out.empty()) return RunMake(common, options, model, owner);
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> file, ReadFile(options.require, 1 << 25));
  HEFT_RETURN_IF_ERROR(owner.RegisterCanaries(file, options.require));
  Print(common, {{"required", options.require}},
        "replies to identifications without these canaries are now refused");
  return absl::OkStatus();
}

}  // namespace

void AddCanary(Command app) {
  const auto [command, options] = AddCommand(
      app, "canary", "make people with known scores, to check a server (key owner)",
      "heft canary --model m.heft --secret-key secret.key --out canaries\n"
      "  heft canary --model m.heft --secret-key secret.key --require canaries/canaries.heft",
      RunCanary);
  AddKeyOptions(command, &options->key, "secret key");
  const Option out = command.Add("-o,--out", &options->out,
                                 "new folder for encrypted samples and their encrypted list");
  command.Add("-k,--key", &options->encryption_key, "encryption key, if the key is shared")
      .Needs(out);
  command
      .Add("--names", &options->names,
           "names for them, one per line, that look like those of others: three for each set of "
           "three "
           "canaries (default: three sets, random names)")
      .Needs(out);
  const Option require =
      command
          .Add("--require", &options->require,
               "list of enrolled canaries: a copy is kept beside the secret key, and "
               "identifications "
               "without them are refused (remove SECRET-KEY.canaries to stop this)")
          .Excludes(out);
  command.RequireOneOf(out, require);
}

}  // namespace heft::cli
