// SPDX-License-Identifier: Apache-2.0
#include "gallery/renewal.h"

#include <algorithm>
#include <string>

#include "base/envelope.h"
#include "ckks/serialization.h"
#include "fusion/key_files.h"
#include "gallery/journal_head.h"

namespace heft {
namespace {

constexpr uint32_t kRenewalRequestVersion = 2, kRenewalVersion = 1;

// How the moves into a target are written: one bit a position of one source that stay where they
// are, or one by one.
enum class MoveForm : uint8_t { kBitmap = 0, kList = 1 };

MoveForm FormOf(std::span<const Move> moves) {
  const bool stay = !moves.empty() && std::ranges::all_of(moves, [&](const Move& m) {
    return m.from == m.to && m.source == moves[0].source;
  });
  return stay ? MoveForm::kBitmap : MoveForm::kList;
}

uint32_t Positions(const Instance& matching) { return 2 * matching.params().slots(); }

void WriteMoves(ByteWriter& writer, uint32_t positions, std::vector<Move> moves) {
  std::ranges::sort(moves, {}, &Move::to);
  const MoveForm form = FormOf(moves);
  writer.U8(static_cast<uint8_t>(form));
  if (form == MoveForm::kBitmap) {
    writer.U32(moves[0].source);
    std::vector<uint8_t> bits(positions / 8, 0);
    for (const Move& m : moves) bits[m.to / 8] |= static_cast<uint8_t>(1 << (m.to % 8));
    writer.Raw(bits);
    return;
  }
  writer.U64(moves.size());
  for (const Move& m : moves) {
    for (const uint32_t v : {m.source, m.from, m.to}) {  // below 2^16, all of them
      writer.U8(static_cast<uint8_t>(v));
      writer.U8(static_cast<uint8_t>(v >> 8));
    }
  }
}

std::vector<Move> ReadBitmap(ByteReader& reader, uint32_t positions) {
  std::vector<Move> moves;
  const uint32_t source = reader.U32();
  const ByteSpan bits = reader.Raw(positions / 8);  // none after a failure
  for (uint32_t p = 0; p < 8 * bits.size(); ++p) {
    if ((bits[p / 8] >> (p % 8) & 1) != 0) moves.push_back({source, p, p});
  }
  return moves;
}

std::vector<Move> ReadList(ByteReader& reader, uint32_t positions) {
  constexpr size_t kMoveSize = 6;
  std::vector<Move> moves(reader.Count(kMoveSize, positions));
  for (Move& m : moves) {
    for (uint32_t* v : {&m.source, &m.from, &m.to}) {
      *v = reader.U8();
      *v |= uint32_t{reader.U8()} << 8;
    }
  }
  return moves;
}

// The moves into one target. `moved`: the positions that have moved so far, by source.
std::vector<Move> ReadMoves(ByteReader& reader, uint32_t positions, size_t sources,
                            std::vector<bool>& moved) {
  const uint8_t form = reader.U8();
  if (form > 1) reader.Fail("moves that are neither a bitmap nor a list");
  std::vector<Move> moves = form == 0 ? ReadBitmap(reader, positions) : ReadList(reader, positions);
  if (!reader.ok()) return {};
  for (size_t i = 0; i < moves.size() && reader.ok(); ++i) {
    const Move& m = moves[i];
    if (m.source >= sources || m.from >= positions || m.to >= positions) {
      reader.Fail("a move of a position that does not exist");
    } else if (i > 0 && m.to <= moves[i - 1].to) {
      reader.Fail("moves that are not in order, or fill a position twice");
    } else if (moved[size_t{m.source} * positions + m.from]) {
      reader.Fail("a position that moves twice");
    } else {
      moved[size_t{m.source} * positions + m.from] = true;
    }
  }
  // Each set of moves has only one valid form.
  if (static_cast<uint8_t>(FormOf(moves)) != form) reader.Fail("moves in the wrong form");
  return moves;
}

size_t PolySize(const Instance& matching, bool extended) {
  const ckks::Params& params = matching.params();
  size_t bits = 0;
  for (size_t l = 0; l < MatchLimbs(params); ++l) bits += params.modulus(l).bits();
  if (extended) bits += params.special().bits();
  return params.n() / 8 * bits;
}

void WriteHead(ByteWriter& writer, const GalleryBinding& binding, const GalleryId& gallery,
               uint64_t generation, const ExchangeId& exchange) {
  WriteBinding(writer, binding);
  ckks::WriteId(writer, gallery);
  writer.U64(generation);
  ckks::WriteId(writer, exchange);
}

template <typename Message>
absl::Status ReadHead(ByteReader& reader, const Instance& matching, std::string_view what,
                      Message* out) {
  out->binding = ReadBinding(reader);
  out->gallery = ckks::ReadId(reader);
  out->generation = reader.U64();
  out->exchange = ckks::ReadId(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_RETURN_IF_ERROR(CheckParamsId(matching.params(), out->binding.params_id, what));
  if (out->binding.gamma != matching.plan.gamma) {
    reader.Fail("templates of another dimension than the model's");
  }
  return reader.status();
}

}  // namespace

size_t RenewalSourceBytes(const Instance& matching) {
  return size_t{matching.plan.gamma} * 2 * PolySize(matching, /*extended=*/true);
}

std::vector<uint8_t> SerializeRenewalRequest(const Instance& matching,
                                             const RenewalRequest& request) {
  ByteWriter writer;
  const size_t source_bytes = RenewalSourceBytes(matching);
  writer.Reserve(request.sources.size() * source_bytes + source_bytes / matching.plan.gamma);
  WriteHead(writer, request.binding, request.gallery, request.generation, request.exchange);
  writer.U64(request.head.size());
  writer.Raw(request.head);
  writer.U64(request.sources.size());
  for (const PaddedBlock& source : request.sources) {
    for (const PaddedBlock::Parts& c : source.ciphertexts) {
      for (const ring::RnsPoly& part : c.part) {
        ckks::WritePoly(writer, *matching.context, part, /*extended=*/true);
      }
    }
  }
  writer.U64(request.targets.size());
  for (const std::vector<Move>& moves : request.targets) {
    WriteMoves(writer, Positions(matching), moves);
  }
  return SealEnvelope(kRenewalRequestKind, kRenewalRequestVersion, writer.bytes());
}

absl::StatusOr<RenewalRequest> ParseRenewalRequest(const Instance& matching, ByteSpan bytes,
                                                   std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kRenewalRequestKind, kRenewalRequestVersion, what));
  ByteReader reader(payload, what);
  RenewalRequest request;
  HEFT_RETURN_IF_ERROR(ReadHead(reader, matching, what, &request));
  const ByteSpan head = reader.Raw(reader.Count(1, kMaxHeadBytes));
  request.head.assign(head.begin(), head.end());
  const uint32_t gamma = matching.plan.gamma;
  const size_t limbs = MatchLimbs(matching.params());
  request.sources.resize(reader.Count(RenewalSourceBytes(matching), kMaxRenewed));
  for (PaddedBlock& source : request.sources) {
    source.ciphertexts.resize(gamma);
    for (PaddedBlock::Parts& c : source.ciphertexts) {
      for (ring::RnsPoly& part : c.part) {
        if (reader.ok()) part = ckks::ReadPoly(reader, *matching.context, limbs, true);
      }
    }
  }
  request.targets.resize(reader.Count(1, kMaxRenewed));
  std::vector<bool> moved(request.sources.size() * Positions(matching), false);
  for (std::vector<Move>& moves : request.targets) {
    if (!reader.ok()) break;
    moves = ReadMoves(reader, Positions(matching), request.sources.size(), moved);
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return request;
}

std::vector<uint8_t> SerializeRenewal(const Instance& matching, const Renewal& renewal) {
  ByteWriter writer;
  const size_t ciphertext = sizeof(Seed) + PolySize(matching, /*extended=*/false);
  writer.Reserve((renewal.targets.size() * matching.plan.gamma + 1) * ciphertext);
  WriteHead(writer, renewal.binding, renewal.gallery, renewal.generation, renewal.exchange);
  writer.U64(renewal.targets.size());
  for (const std::vector<ckks::SeededCiphertext>& target : renewal.targets) {
    for (const ckks::SeededCiphertext& c : target) {
      ckks::WriteSeed(writer, c.seed);
      ckks::WritePoly(writer, *matching.context, c.c0, /*extended=*/false);
    }
  }
  return SealEnvelope(kRenewalKind, kRenewalVersion, writer.bytes());
}

absl::StatusOr<Renewal> ParseRenewal(const Instance& matching, ByteSpan bytes,
                                     std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kRenewalKind, kRenewalVersion, what));
  ByteReader reader(payload, what);
  Renewal renewal;
  HEFT_RETURN_IF_ERROR(ReadHead(reader, matching, what, &renewal));
  const uint32_t gamma = matching.plan.gamma;
  const size_t limbs = MatchLimbs(matching.params());
  renewal.targets.resize(
      reader.Count(gamma * (sizeof(Seed) + PolySize(matching, /*extended=*/false)), kMaxRenewed));
  for (std::vector<ckks::SeededCiphertext>& target : renewal.targets) {
    target.resize(gamma);
    for (ckks::SeededCiphertext& c : target) {
      c.scale = matching.plan.matching.block_scale;
      c.seed = ckks::ReadSeed(reader);
      if (reader.ok()) c.c0 = ckks::ReadPoly(reader, *matching.context, limbs, false);
    }
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return renewal;
}

}  // namespace heft
