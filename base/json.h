// SPDX-License-Identifier: Apache-2.0
// Json: what results and training summaries are written in; members keep their order.
#ifndef HEFT_BASE_JSON_H_
#define HEFT_BASE_JSON_H_

#include <nlohmann/json.hpp>

namespace heft {

using Json = nlohmann::ordered_json;

}  // namespace heft

#endif  // HEFT_BASE_JSON_H_
