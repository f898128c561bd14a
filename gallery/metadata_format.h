// SPDX-License-Identifier: Apache-2.0
// Metadata and conditions in files (docs/formats.md).
#ifndef HEFT_GALLERY_METADATA_FORMAT_H_
#define HEFT_GALLERY_METADATA_FORMAT_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "heft/gallery.h"

namespace heft {

// WriteName, ReadName: at most 255 bytes.
void WriteName(ByteWriter& writer, std::string_view name);
std::string ReadName(ByteReader& reader);

// WriteMetadata: writes metadata that CheckMetadata accepts. ReadMetadata refuses all other.
void WriteMetadata(ByteWriter& writer, const Metadata& metadata);
Metadata ReadMetadata(ByteReader& reader);

// WriteConditions, ReadConditions: the same by CheckConditions.
void WriteConditions(ByteWriter& writer, std::span<const Condition> conditions);
std::vector<Condition> ReadConditions(ByteReader& reader);

}  // namespace heft

#endif  // HEFT_GALLERY_METADATA_FORMAT_H_
