// SPDX-License-Identifier: Apache-2.0
// The request of a server that the key owner answers, and the answer's options.
#ifndef HEFT_PROGRAM_OWNER_KEY_OWNER_ANSWER_H_
#define HEFT_PROGRAM_OWNER_KEY_OWNER_ANSWER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "program/common.h"
#include "program/owner/key_options.h"
#include "program/trust_options.h"

namespace heft::cli {

struct AnswerOptions {
  KeyOptions key;
  TrustOptions trust;
  std::string in, out;
};
// AddAnswerOptions: model, secret key, trust, --in and --out.
void AddAnswerOptions(Command command, AnswerOptions* options, const std::string& in_help,
                      const std::string& out_help);

// Asked: a request as received, and the key owner, which accepts only requests of trusted signers.
struct Asked {
  std::vector<uint8_t> request;
  KeyOwner owner;
};
absl::StatusOr<Asked> LoadAsked(const AnswerOptions& options);

}  // namespace heft::cli

#endif  // HEFT_PROGRAM_OWNER_KEY_OWNER_ANSWER_H_
