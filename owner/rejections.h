// SPDX-License-Identifier: Apache-2.0
// Rejections of one request for admission, grouped by cause. A model that does not fit new people
// rejects all of them: the key owner reads the cause and the remedy once.
#ifndef HEFT_OWNER_REJECTIONS_H_
#define HEFT_OWNER_REJECTIONS_H_

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heft/key_owner.h"
#include "heft/model.h"

namespace heft {

// Finding: what speaks against a template. Without arguments: nothing.
struct Finding {
  Rejection rejection = Rejection::kNone;
  std::string cause = {};   // the same for all templates of a group
  std::string reason = {};  // the cause, with what was measured of this template
  std::optional<double> squared_norm = {};
  std::string remedy = {};  // of an unsound template it is found with its group

  bool sound() const { return rejection == Rejection::kNone; }
  static Finding Of(Rejection rejection, const std::string& cause, std::string remedy = "") {
    return {rejection, cause, cause, {}, std::move(remedy)};
  }
};

// kMinUnsound: if more than half of the templates are unsound, and at least so many, the model
// is at fault and not the people.
inline constexpr size_t kMinUnsound = 3;

// GroupRejections: findings[i] is of verdicts[i]. The largest group first; equal ones in the order
// of the request.
std::vector<Admissions::Group> GroupRejections(const Model& model,
                                               std::span<const Admissions::Verdict> verdicts,
                                               std::span<const Finding> findings);

}  // namespace heft

#endif  // HEFT_OWNER_REJECTIONS_H_
