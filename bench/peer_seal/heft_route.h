// SPDX-License-Identifier: Apache-2.0
// Our side of the comparison: the compact route, cubic normalisation, one diagonal block.
#ifndef HEFT_BENCH_PEER_SEAL_HEFT_ROUTE_H_
#define HEFT_BENCH_PEER_SEAL_HEFT_ROUTE_H_

#include <memory>

#include "base/status.h"
#include "bench/peer_seal/route.h"
#include "heft/model.h"

namespace heft::bench {

// `model` has the workload's projection; at most one block of templates.
absl::StatusOr<std::unique_ptr<Route>> MakeHeftRoute(const Workload& workload, const Model& model);

}  // namespace heft::bench

#endif  // HEFT_BENCH_PEER_SEAL_HEFT_ROUTE_H_
