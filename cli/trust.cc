// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "program/common.h"
#include "program/trust_options.h"

namespace heft::cli {
namespace {

struct TrustFlags {
  std::string trust, role, name, key, in, out, passphrase_file, to;
  uint64_t generation = 0, life = 0;
  bool passphrase = false;
};

// NameOf: the name of a key in a file: by default the name of the file.
std::string NameOf(const TrustFlags& options) {
  if (!options.name.empty()) return options.name;
  if (ParseSignerKey(options.key).ok()) return options.key.substr(0, 8);
  std::string name = options.key.substr(options.key.find_last_of('/') + 1);
  if (name.ends_with(".pub")) name.resize(name.size() - 4);
  return name;
}

// The trust file; a missing one is begun.
absl::StatusOr<Trust> LoadOrBegin(const std::string& path) {
  auto trust = Trust::Load(path);
  if (absl::IsNotFound(trust.status())) return Trust();
  return trust;
}

absl::Status Pin(const Common& common, const TrustFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const GalleryId id, ParseGalleryId(options.in));
  HEFT_ASSIGN_OR_RETURN(Trust trust, LoadOrBegin(options.trust));
  trust.Pin(id, options.generation);
  HEFT_RETURN_IF_ERROR(trust.Save(options.trust));
  Print(common, {{"gallery", HexString(id)}, {"generation", options.generation}},
        absl::StrCat("replies of gallery ", HexString(id), " from generation ", options.generation,
                     " on are accepted, and of no unpinned gallery"));
  return absl::OkStatus();
}

absl::Status Add(const Common& common, const TrustFlags& options) {
  if (!options.in.empty()) return Pin(common, options);
  HEFT_ASSIGN_OR_RETURN(const Role role, ParseRole(options.role));
  HEFT_ASSIGN_OR_RETURN(const SignerKey key, ReadSignerKey(options.key));
  HEFT_ASSIGN_OR_RETURN(Trust trust, LoadOrBegin(options.trust));
  const std::string name = NameOf(options);
  HEFT_RETURN_IF_ERROR(trust.Add(role, name, key));
  HEFT_RETURN_IF_ERROR(trust.Save(options.trust));
  Print(common, {{"role", options.role}, {"name", name}, {"key", HexString(key)}},
        absl::StrCat(options.trust, " believes ", options.role, " \"", name, "\", key ",
                     HexString(key)));
  return absl::OkStatus();
}

absl::Status Revoke(const Common& common, const TrustFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const SignerKey key, ReadSignerKey(options.key));
  HEFT_ASSIGN_OR_RETURN(Trust trust, Trust::Load(options.trust));
  HEFT_RETURN_IF_ERROR(trust.Revoke(key));
  HEFT_RETURN_IF_ERROR(trust.Save(options.trust));
  Print(common, {{"revoked", HexString(key)}},
        absl::StrCat(options.trust, " revokes key ", HexString(key)));
  return absl::OkStatus();
}

absl::Status NewKey(const Common& common, const TrustFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const SigningKey key, SigningKey::Generate());
  PassphraseSource passphrase;
  if (options.passphrase || !options.passphrase_file.empty()) {
    passphrase = [&] { return ReadPassphrase(options.passphrase_file, /*confirm=*/true); };
  }
  HEFT_RETURN_IF_ERROR(key.Save(options.out, passphrase));
  std::string pub = options.out;
  if (pub.ends_with(".key")) pub.resize(pub.size() - 4);
  pub += ".pub";
  const std::string name =
      pub.substr(pub.find_last_of('/') + 1, pub.size() - pub.find_last_of('/') - 5);
  HEFT_RETURN_IF_ERROR(
      WriteResult(pub, absl::StrCat(HexString(key.public_key()), " ", name, "\n")));
  Print(common,
        {{"key", HexString(key.public_key())}, {"signing_key", options.out}, {"public_key", pub}},
        absl::StrCat("signing key (keep it secret): ", options.out,
                     "\npublic key (for trust files): ", pub));
  return absl::OkStatus();
}

absl::Status Sign(const Common& common, const TrustFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const Statement statement,
                        StatementOf(options.role, options.to, options.life));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> file, ReadFile(options.in));
  HEFT_ASSIGN_OR_RETURN(const SigningKey key, LoadSigner(options.key));
  const auto bytes = key.Sign(statement, file);
  if (!bytes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.in, ": ", std::string(bytes.status().message())));
  }
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, *bytes));
  Print(common,
        {{"out", options.out}, {"role", options.role}, {"signer", HexString(key.public_key())}},
        absl::StrCat("signed as ", options.role, ": ", options.out));
  return absl::OkStatus();
}

// Commands that write a trust file.
auto AddChange(Command group, const std::string& name, const std::string& description,
               const std::string& example,
               absl::Status (*run)(const Common& common, const TrustFlags& options)) {
  const auto added = AddCommand(group, name, description, example, run);
  added.first.Add("--trust", &added.second->trust, "trust file").Required();
  return added;
}

void AddSigning(Command group) {
  const auto [new_key, made] = AddCommand(group, "new-key",
                                          "make a signing key for a server, client, registrar or "
                                          "trainer (a key owner has one already)",
                                          "heft trust new-key --out client.key", NewKey);
  new_key.Add("-o,--out", &made->out, "NAME.key to write; NAME.pub is written beside it")
      .Required();
  const Option ask =
      new_key.Add("--passphrase", &made->passphrase,
                  "encrypt it under a passphrase, which is asked for on the terminal");
  new_key
      .Add("--passphrase-file", &made->passphrase_file,
           "the passphrase is the first line of this file")
      .Excludes(ask);

  const auto [sign, signs] = AddCommand(
      group, "sign", "sign one of HEFT's files",
      "heft trust sign --key trainer.key --role trainer --in m.heft --out signed.heft", Sign);
  sign.Add("-k,--key", &signs->key, "signing key").Required();
  sign.Add("--role", &signs->role, "role of the signer").Required();
  sign.Add("-i,--in", &signs->in, "file to sign").Required();
  sign.Add("-o,--out", &signs->out, "signed file to write").Required();
  sign.Add("--to", &signs->to, "public key of the only recipient that may accept it");
  AddLife(sign, &signs->life);
}

}  // namespace

void AddTrust(Command app) {
  const Command group = app.Group("trust", "trusted signatures, and keys to sign with");
  const auto [add, added] =
      AddChange(group, "add",
                "trust a public key in a role, or the replies of a gallery and of no unlisted one",
                "heft trust add --trust keys/trust.heft --role server --key gallery/server.pub\n"
                "  heft trust add --trust keys/trust.heft --gallery ID --generation 7",
                Add);
  const Option role =
      add.Add("--role", &added->role, "key-owner, server, client, registrar or trainer");
  const Option key = add.Add("-k,--key", &added->key, "NAME.pub, or 64 hexadecimal digits");
  role.Needs(key);
  key.Needs(role);
  add.Add("--name", &added->name, "name for it (default: the file's name)").Needs(key);
  const Option gallery =
      add.Add("--gallery", &added->in, "id of the gallery (heft inspect GALLERY)").Excludes(key);
  add.Add("--generation", &added->generation, "refuse replies of earlier generations of it")
      .ShowDefault()
      .Needs(gallery);
  add.RequireOneOf(key, gallery);

  const auto [revoke, revoked] =
      AddChange(group, "revoke", "stop trusting a public key, in any role",
                "heft trust revoke --trust trust.heft --key client.pub", Revoke);
  revoke.Add("-k,--key", &revoked->key, "NAME.pub, or 64 hexadecimal digits").Required();

  AddSigning(group);
}

}  // namespace heft::cli
