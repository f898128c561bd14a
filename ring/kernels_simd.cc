// SPDX-License-Identifier: Apache-2.0
// The kernels in Highway, compiled once for each instruction set, and the selection.

// Excludes the variants between SSE4 and AVX2, and AVX-512 extensions that these loops do not use:
// they only cost compile time.
#include <cstdint>

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ring/kernels_simd.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ring/kernel_table.h"
#include "ring/kernels.h"
#include "ring/match_simd-inl.h"
#include "ring/ntt_simd-inl.h"
#include "ring/pointwise_simd-inl.h"
#include "ring/products_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heft::ring {
namespace HWY_NAMESPACE {

const Kernels* Table() {
#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
  return &ReferenceKernels();  // One lane, or a length that is not known here: no gain over scalar.
#else
  static const Kernels kernels = HEFT_KERNEL_TABLE(HWY_TARGET == HWY_AVX3   ? "avx512"
                                                   : HWY_TARGET == HWY_AVX2 ? "avx2"
                                                   : HWY_TARGET == HWY_SSE4 ? "sse4"
                                                   : HWY_TARGET == HWY_NEON ? "neon"
                                                   : HWY_TARGET == HWY_WASM ? "wasm"
                                                                            : "simd");
  return &kernels;
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace heft::ring
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "base/check.h"
#include "ring/kernels_checked.h"

namespace heft::ring {
namespace {
HWY_EXPORT(Table);

std::vector<const Kernels*> DetectKernels() {
  std::vector<const Kernels*> all = {&ReferenceKernels()};
  std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  std::reverse(targets.begin(), targets.end());  // Highway lists the best one first.
  for (int64_t target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    const Kernels* table = HWY_DYNAMIC_DISPATCH(Table)();
    if (std::find(all.begin(), all.end(), table) == all.end()) all.push_back(table);
  }
  hwy::SetSupportedTargetsForTest(0);
  return all;
}

const Kernels* Find(std::string_view name) {
  for (const Kernels* table : AllKernels()) {
    if (name == table->name) return table;
  }
  return nullptr;
}

std::atomic<const Kernels*>& Active() {
  static std::atomic<const Kernels*> active([] {
    const char* wanted = std::getenv("HEFT_SIMD");
    const Kernels* forced = wanted != nullptr ? Find(wanted) : nullptr;
    return forced != nullptr ? forced : AllKernels().back();
  }());
  return active;
}
}  // namespace

const std::vector<const Kernels*>& AllKernels() {
  static const std::vector<const Kernels*> all = DetectKernels();
  return all;
}

const Kernels& ActiveKernels() {
  const Kernels& active = *Active().load(std::memory_order_relaxed);
  if constexpr (kDebugChecks) return CheckedKernels(active);
  return active;
}

bool ForceKernels(std::string_view name) {
  const Kernels* table = Find(name);
  if (table == nullptr) return false;
  Active().store(table);
  return true;
}

}  // namespace heft::ring

#endif  // HWY_ONCE
