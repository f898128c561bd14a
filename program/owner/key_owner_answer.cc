// SPDX-License-Identifier: Apache-2.0
#include "program/owner/key_owner_answer.h"

#include <utility>

namespace heft::cli {

void AddAnswerOptions(Command command, AnswerOptions* options, const std::string& in_help,
                      const std::string& out_help) {
  AddKeyOptions(command, &options->key, "secret key");
  AddTrustOptions(command, &options->trust, "the secret key");
  command.Add("-i,--in", &options->in, in_help).Required();
  command.Add("-o,--out", &options->out, out_help).Required();
}

absl::StatusOr<Asked> LoadAsked(const AnswerOptions& options) {
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> request, ReadFile(options.in));
  HEFT_ASSIGN_OR_RETURN(std::optional<Trust> trust,
                        LoadTrustFor(options.trust, options.key.secret_key, request));
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadTrustedModel(options.key.model, trust));
  HEFT_ASSIGN_OR_RETURN(KeyOwner owner, LoadKeyOwner(model, options.key));
  if (trust) HEFT_RETURN_IF_ERROR(owner.RequireSigned(*std::move(trust)));
  HEFT_RETURN_IF_ERROR(CheckOutput(options.out));
  return Asked{std::move(request), std::move(owner)};
}

}  // namespace heft::cli
