// SPDX-License-Identifier: Apache-2.0
// renew, of the key owner: blocks of a gallery anew, without those who are removed.
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/key_options.h"
#include "cli/trust_options.h"

namespace heft::cli {
namespace {

struct RenewOptions {
  KeyOptions key;
  TrustOptions trust;
  std::string in, out;
};

absl::Status RunRenew(const Common& common, const RenewOptions& options) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> request, ReadFile(options.in));
  HEFT_ASSIGN_OR_RETURN(std::optional<Trust> trust,
                        LoadTrustFor(options.trust, options.key.secret_key, request));
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadTrustedModel(options.key.model, trust));
  HEFT_ASSIGN_OR_RETURN(KeyOwner owner, LoadKeyOwner(model, options.key));
  if (trust) HEFT_RETURN_IF_ERROR(owner.RequireSigned(*std::move(trust)));
  HEFT_ASSIGN_OR_RETURN(const RenewedBlocks done, owner.Renew(request, options.in));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, done.signed_renewal));
  Print(common, {{"out", options.out}, {"blocks", done.blocks}, {"templates", done.templates}},
        absl::StrCat("encrypted ", done.templates, " templates anew, in ", done.blocks,
                     " blocks; for the server: ", options.out));
  return absl::OkStatus();
}

}  // namespace

void AddRenew(Command app) {
  auto options = std::make_shared<RenewOptions>();
  const Command command = AddCommand(
      app, "renew", "encrypt blocks of a gallery anew, without those who are removed (key owner)",
      "heft renew --model m.heft --secret-key keys/secret.key --in request.heft --out renewal.heft",
      [options](const Common& common) { return RunRenew(common, *options); });
  AddKeyOptions(command, &options->key, "secret key");
  AddTrustOptions(command, &options->trust, "the secret key");
  command.Add("-i,--in", &options->in, "the server's request, templates under its pads").Required();
  command.Add("-o,--out", &options->out, "signed renewal, for the server").Required();
}

}  // namespace heft::cli
