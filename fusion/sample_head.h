// SPDX-License-Identifier: Apache-2.0
// The head of a file of samples, without its ciphertexts (docs/formats.md, "CTXT").
#ifndef HEFT_FUSION_SAMPLE_HEAD_H_
#define HEFT_FUSION_SAMPLE_HEAD_H_

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "fusion/samples.h"

namespace heft {

// ReadSampleHead: reads a payload of this encoding up to the number of samples; errors are in
// `reader`.
SampleHeader ReadSampleHead(ByteReader& reader, SampleEncoding encoding);

// CountSamples: the number of samples in a payload of kind `kind`; 0 for other kinds.
absl::StatusOr<uint64_t> CountSamples(std::string_view kind, ByteSpan payload,
                                      std::string_view what);

}  // namespace heft

#endif  // HEFT_FUSION_SAMPLE_HEAD_H_
