// SPDX-License-Identifier: Apache-2.0
// Shared by the fuzz targets. A target is a function LLVMFuzzerTestOneInput that hands its input to
// one reader and checks the promises of every reader: no crash, an error of the documented codes,
// and accepted values that are in range and mean the same as their bytes.
//
// libFuzzer drives the targets (scripts/fuzz); replay_main.cc runs them on files, in the tests.
#ifndef HEFT_FUZZ_FUZZ_H_
#define HEFT_FUZZ_FUZZ_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/context.h"
#include "fusion/plan.h"
#include "fusion/rings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace heft::fuzz {

// Stops the program, so that the fuzzer keeps the input, unless `condition` holds.
void Check(bool condition, const char* what);
// The codes with which a reader may refuse bytes.
void CheckRefusal(const absl::Status& status);

// The payload of `input` in an envelope with right magic, size and hash; kind and version stay.
// Empty if `input` is too short. With it a fuzzer reaches what lies beneath the checksum.
std::vector<uint8_t> Resealed(ByteSpan input);

// Calls `read` with `input` as it is, and resealed.
void ReadBothWays(ByteSpan input, const std::function<void(ByteSpan)>& read);

// Parameters of degree 16 and three small primes: files of a few hundred bytes. The readers take
// every size from the context, so they run the same code as at N = 8192.
std::shared_ptr<const ckks::Context> SmallContext();
// The small context with the gamma of small galleries; its plan is for nothing else.
inline constexpr uint32_t kSmallGamma = 2;
const Instance& SmallInstance();
// One ring for all.
const Rings& SmallRings();

}  // namespace heft::fuzz

#endif  // HEFT_FUZZ_FUZZ_H_
