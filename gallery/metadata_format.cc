// SPDX-License-Identifier: Apache-2.0
#include "gallery/metadata_format.h"

#include <string>
#include <utility>

namespace heft {
namespace {

constexpr uint8_t kAtLeast = 1, kAtMost = 2;  // the bounds of a range

void WriteCondition(ByteWriter& writer, const Condition& condition) {
  WriteName(writer, condition.key);
  writer.U8(static_cast<uint8_t>(condition.values.size()));
  for (const std::string& value : condition.values) WriteName(writer, value);
  if (!condition.values.empty()) return;
  writer.U8((condition.at_least ? kAtLeast : 0) | (condition.at_most ? kAtMost : 0));
  if (condition.at_least) writer.F64(*condition.at_least);
  if (condition.at_most) writer.F64(*condition.at_most);
}

Condition ReadCondition(ByteReader& reader) {
  Condition condition;
  condition.key = ReadName(reader);
  const uint8_t values = reader.U8();
  for (uint8_t i = 0; i < values && reader.ok(); ++i) condition.values.push_back(ReadName(reader));
  if (values > 0) return condition;
  const uint8_t bounds = reader.U8();
  if (bounds > (kAtLeast | kAtMost)) reader.Fail("bounds of an unknown form");
  if (bounds & kAtLeast) condition.at_least = reader.F64();
  if (bounds & kAtMost) condition.at_most = reader.F64();
  return condition;
}

void Require(ByteReader& reader, const absl::Status& sound) {
  if (reader.ok() && !sound.ok()) reader.Fail(std::string(sound.message()));
}

}  // namespace

void WriteName(ByteWriter& writer, std::string_view name) {
  writer.U8(static_cast<uint8_t>(name.size()));
  writer.Raw(AsBytes(name));
}

std::string ReadName(ByteReader& reader) {
  const ByteSpan raw = reader.Raw(reader.U8());
  return std::string(reinterpret_cast<const char*>(raw.data()), raw.size());
}

void WriteMetadata(ByteWriter& writer, const Metadata& metadata) {
  writer.U8(static_cast<uint8_t>(metadata.size()));
  for (const MetadataPair& pair : metadata) {
    WriteName(writer, pair.key);
    WriteName(writer, pair.value);
  }
}

Metadata ReadMetadata(ByteReader& reader) {
  Metadata metadata;
  const uint8_t count = reader.U8();
  for (uint8_t i = 0; i < count && reader.ok(); ++i) {
    std::string key = ReadName(reader);
    metadata.push_back({std::move(key), ReadName(reader)});
  }
  if (reader.ok()) Require(reader, CheckMetadata(metadata));
  return metadata;
}

void WriteConditions(ByteWriter& writer, std::span<const Condition> conditions) {
  writer.U8(static_cast<uint8_t>(conditions.size()));
  for (const Condition& condition : conditions) WriteCondition(writer, condition);
}

std::vector<Condition> ReadConditions(ByteReader& reader) {
  std::vector<Condition> conditions;
  const uint8_t count = reader.U8();
  for (uint8_t i = 0; i < count && reader.ok(); ++i) conditions.push_back(ReadCondition(reader));
  if (reader.ok()) Require(reader, CheckConditions(conditions));
  return conditions;
}

}  // namespace heft
