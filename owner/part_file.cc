// SPDX-License-Identifier: Apache-2.0
#include "owner/part_file.h"

#include <algorithm>
#include <utility>

#include "base/envelope.h"
#include "ckks/serialization.h"

namespace heft {
namespace {

constexpr uint32_t kPartVersion = 2;
constexpr uint64_t kMaxFiles = 1 << 20;
constexpr uint64_t kMaxOpenings = 1 << 24;
constexpr uint64_t kMaxBlocks = 256;  // of a renewal
// Of an opening: ring, name, limbs.
constexpr size_t kOpeningHead = 1 + sizeof(uint64_t) + 1;

const ckks::Context& ContextOf(const Rings& rings, RingName ring) {
  return ring == RingName::kMatching ? *rings.matching.context : *rings.enrolment.context;
}

void WriteSubject(ByteWriter& writer, const PartSubject& subject) {
  writer.Raw(subject.question);
  writer.U64(subject.files.size());
  for (const Digest& file : subject.files) writer.Raw(file);
  writer.U64(subject.states.size());
  for (const SignedState& state : subject.states) {
    writer.Raw(state.gallery);
    writer.U64(state.generation);
    writer.Raw(state.root);
  }
}

PartSubject ReadSubject(ByteReader& reader) {
  PartSubject subject;
  ReadArray(reader, &subject.question);
  subject.files.resize(reader.Count(sizeof(Digest), kMaxFiles));
  for (Digest& file : subject.files) ReadArray(reader, &file);
  subject.states.resize(
      reader.Count(sizeof(GalleryId) + sizeof(uint64_t) + sizeof(Digest), kMaxFiles));
  for (SignedState& state : subject.states) {
    ReadArray(reader, &state.gallery);
    state.generation = reader.U64();
    ReadArray(reader, &state.root);
  }
  return subject;
}

PartialOpening ReadOpening(ByteReader& reader, const Rings& rings) {
  PartialOpening out;
  const uint8_t ring = reader.U8();
  if (ring > 1) reader.Fail("a ring that the model does not have");
  out.ciphertext.first = ring == 0 ? RingName::kMatching : RingName::kEnrolment;
  out.ciphertext.second = reader.U64();
  const uint8_t limbs = reader.U8();
  const ckks::Context& context = ContextOf(rings, out.ciphertext.first);
  if (limbs < 1 || limbs > context.params().limbs()) reader.Fail("an opening of no level");
  if (reader.ok()) out.part = ckks::ReadPoly(reader, context, limbs, /*extended=*/false);
  return out;
}

// Of each source or target: no polynomial, or gamma of them.
void WriteBlocks(ByteWriter& writer, const Rings& rings,
                 const std::vector<std::vector<ring::RnsPoly>>& blocks, bool extended) {
  writer.U64(blocks.size());
  for (const std::vector<ring::RnsPoly>& block : blocks) {
    writer.U8(block.empty() ? 0 : 1);
    for (const ring::RnsPoly& poly : block) {
      ckks::WritePoly(writer, *rings.matching.context, poly, extended);
    }
  }
}

std::vector<std::vector<ring::RnsPoly>> ReadBlocks(ByteReader& reader, const Rings& rings,
                                                   bool extended) {
  const size_t limbs = MatchLimbs(rings.matching.params());
  std::vector<std::vector<ring::RnsPoly>> blocks(reader.Count(1, kMaxBlocks));
  for (std::vector<ring::RnsPoly>& block : blocks) {
    const uint8_t there = reader.U8();
    if (there > 1) reader.Fail("a block that is neither there nor not");
    if (!reader.ok() || there == 0) continue;
    block.resize(rings.matching.plan.gamma);
    for (ring::RnsPoly& poly : block) {
      if (reader.ok()) poly = ckks::ReadPoly(reader, *rings.matching.context, limbs, extended);
    }
  }
  return blocks;
}

bool SameState(const SignedState& a, const SignedState& b) {
  return a.gallery == b.gallery && a.generation == b.generation && a.root == b.root;
}

}  // namespace

std::string Mismatch(const PartSubject& mine, const PartSubject& other) {
  const bool galleries = std::ranges::equal(mine.states, other.states, {}, &SignedState::gallery,
                                            &SignedState::gallery);
  if (!galleries) return "of another gallery";
  if (!std::ranges::equal(mine.states, other.states, SameState)) {
    return "of another state of the gallery";
  }
  if (mine.files != other.files) return "of another reply or request";
  if (mine.question != other.question) return "made for another question (rule, rate or output)";
  return {};
}

std::vector<uint8_t> PartFile::Serialize(const Rings& rings) const {
  ByteWriter writer;
  Write(rings, &writer);
  return writer.Take();
}

size_t PartFile::Size(const Rings& rings) const {
  size_t bytes = 4096;
  for (const PartialOpening& opening : openings) {
    bytes += kOpeningHead + opening.part.limbs() * ContextOf(rings, opening.ciphertext.first).n() *
                                sizeof(uint32_t);
  }
  return bytes;
}

Hash PartFile::Write(const Rings& rings, ByteWriter* out) const {
  ByteWriter& writer = *out;
  const size_t start = BeginEnvelope(kPartKind, kPartVersion, &writer);
  ckks::WriteId(writer, key_id);
  writer.Raw(ceremony);
  writer.U32(owner);
  writer.U64(set.size());
  writer.U32Array(set);
  WriteSubject(writer, subject);
  writer.U64(openings.size());
  for (const PartialOpening& opening : openings) {
    writer.U8(static_cast<uint8_t>(opening.ciphertext.first));
    writer.U64(opening.ciphertext.second);
    writer.U8(static_cast<uint8_t>(opening.part.limbs()));
    ckks::WritePoly(writer, ContextOf(rings, opening.ciphertext.first), opening.part,
                    /*extended=*/false);
  }
  WriteBlocks(writer, rings, renewal.opened, /*extended=*/true);
  WriteBlocks(writer, rings, renewal.hidden, /*extended=*/false);
  writer.U8(rekeying ? 1 : 0);
  if (rekeying) ckks::WriteSwitchKey(writer, *rings.matching.context, *rekeying);
  return EndEnvelope(start, &writer);
}

absl::StatusOr<PartFile> PartFile::Parse(const Rings& rings, ByteSpan bytes, std::string_view what,
                                         Checksum checksum) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kPartKind, kPartVersion, what, checksum));
  ByteReader reader(payload, what);
  PartFile out;
  out.key_id = ckks::ReadId(reader);
  ReadArray(reader, &out.ceremony);
  out.owner = reader.U32();
  out.set.resize(reader.Count(sizeof(uint32_t), ckks::kMaxOwners));
  reader.U32Array(out.set);
  out.subject = ReadSubject(reader);
  const uint64_t count = reader.Count(kOpeningHead, kMaxOpenings);
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    out.openings.push_back(ReadOpening(reader, rings));
  }
  out.renewal.opened = ReadBlocks(reader, rings, /*extended=*/true);
  out.renewal.hidden = ReadBlocks(reader, rings, /*extended=*/false);
  const uint8_t rekeys = reader.U8();
  if (rekeys > 1) reader.Fail("a re-keying key that is neither there nor not");
  if (reader.ok() && rekeys == 1)
    out.rekeying = ckks::ReadSwitchKey(reader, *rings.matching.context);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return out;
}

}  // namespace heft
