// SPDX-License-Identifier: Apache-2.0
#include "gallery/scores.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/identity.h"
#include "base/signed_file.h"
#include "ckks/serialization.h"
#include "fusion/key_files.h"
#include "fusion/samples.h"
#include "gallery/journal_head.h"
#include "gallery/metadata_format.h"

namespace heft {
namespace {

constexpr std::string_view kScoresKind = "SCOR";
constexpr uint32_t kScoresVersion = 7;
constexpr uint64_t kMaxNames = uint64_t{1} << 28;
constexpr size_t kOriginSize = sizeof(GalleryId) + sizeof(uint64_t) + 3 * sizeof(Digest);

void WriteAnswers(ByteWriter& writer, const ScoreReply& reply) {
  writer.U64(reply.answers.size());
  for (const ScoreReply::Answer& answer : reply.answers) {
    writer.U32(answer.slot | answer.lane << 31);
  }
}

// Verification: all answers are of the one claimed identity.
std::vector<ScoreReply::Answer> ReadAnswers(ByteReader& reader, const ckks::Context& context) {
  std::vector<ScoreReply::Answer> answers;
  const uint64_t count = reader.Count(sizeof(uint32_t), 2 * context.slots());
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    const uint32_t packed = reader.U32();
    answers.push_back({packed & 0x7FFFFFFFu, packed >> 31, 0});
    if (answers.back().slot >= context.slots()) reader.Fail("an answer outside the slots");
  }
  return answers;
}

uint64_t PlacesPerBlock(const ckks::Context& context) { return 2 * uint64_t{context.slots()}; }

// How many replies there must be.
uint64_t ReplyCount(const ckks::Context& context, const EncryptedScores& scores) {
  const uint64_t per_block = PlacesPerBlock(context);
  if (scores.restriction) return scores.restriction->answering.Blocks(per_block).size();
  return scores.templates / per_block + (scores.templates % per_block > 0 ? 1 : 0);
}

bool CountsAgree(const ckks::Context& context, const EncryptedScores& scores, uint64_t replies) {
  if (scores.kind == ScoreKind::kVerification) {
    return scores.templates == 0 && scores.identities == std::vector<std::string>{scores.claimed};
  }
  return replies == ReplyCount(context, scores) && scores.claimed.empty() &&
         (scores.identities.empty() || scores.identities.size() == scores.templates);
}

// A name for each place that answers, and for no other.
absl::Status CheckNames(const EncryptedScores& scores, std::string_view what) {
  for (size_t i = 0; i < scores.identities.size(); ++i) {
    const std::string& name = scores.identities[i];
    if (scores.Answers(i)) {
      HEFT_RETURN_IF_ERROR(CheckIdentityAt(name, what, i));
    } else if (!name.empty()) {
      return absl::DataLossError(
          absl::StrCat(std::string(what), ": place ", i, " is not matched, but has a name"));
    }
  }
  return absl::OkStatus();
}

void WriteReply(ByteWriter& writer, const ckks::Context& context, const EncryptedScores& scores,
                const ScoreReply& reply) {
  if (reply.brief) return ckks::WriteShortCiphertext(writer, *reply.brief);
  if (scores.kind == ScoreKind::kVerification) WriteAnswers(writer, reply);
  ckks::WriteCiphertext(writer, context, reply.scores);
}

// `block`: of an identification.
ScoreReply ReadReply(ByteReader& reader, const ckks::Context& context,
                     const EncryptedScores& scores, uint64_t block, bool brief) {
  ScoreReply reply;
  const bool verification = scores.kind == ScoreKind::kVerification;
  reply.answers =
      verification ? ReadAnswers(reader, context) : IdentificationAnswers(context, block, scores);
  if (!reader.ok()) return reply;
  if (brief) {
    reply.brief = ckks::ReadShortCiphertext(reader, context);
  } else {
    reply.scores = ckks::ReadCiphertext(reader, context);
  }
  return reply;
}

void ReadNormOf(ByteReader& reader, const ckks::Context& context, EncryptedScores* scores) {
  const uint8_t form = reader.U8();
  if (form > 1) reader.Fail("a norm of an unknown form");
  if (!reader.ok() || form == 0) return;
  scores->norm_form = static_cast<NormForm>(form);
  scores->norm = ckks::ReadCiphertext(reader, context);
}

// ReadAbout: all before the names.
absl::Status ReadAbout(ByteReader& reader, const ckks::Context& context, std::string_view what,
                       EncryptedScores* scores) {
  scores->params_id = ckks::ReadId(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_RETURN_IF_ERROR(CheckParamsId(context.params(), scores->params_id, what));
  scores->key_id = ckks::ReadId(reader);
  scores->model_id = ckks::ReadId(reader);
  const uint8_t kind = reader.U8();
  if (kind > 1) reader.Fail(absl::StrCat("unknown kind of scores ", kind));
  scores->kind = static_cast<ScoreKind>(kind);
  scores->modalities = reader.U8();
  if (scores->modalities == 0) reader.Fail("a probe without a modality");
  scores->probe = reader.String(256);
  scores->claimed = reader.String(256);
  for (const std::string* name : {&scores->probe, &scores->claimed}) {
    const absl::Status sound = name->empty() ? absl::OkStatus() : CheckIdentity(*name);
    if (!sound.ok()) reader.Fail(std::string(sound.message()));
  }
  return reader.status();
}

// ReadHead: all before the norm. Names are read as they come (CheckNames).
absl::Status ReadHead(ByteReader& reader, const ckks::Context& context, std::string_view what,
                      EncryptedScores* scores) {
  HEFT_RETURN_IF_ERROR(ReadAbout(reader, context, what, scores));
  const uint64_t names = reader.Count(1, kMaxNames);
  for (uint64_t i = 0; i < names && reader.ok(); ++i) {
    scores->identities.push_back(ReadName(reader));
  }
  scores->templates = reader.U64();
  const uint8_t restricted = reader.U8();
  if (restricted > 1) reader.Fail("whether places are left out");
  if (restricted != 1) return reader.status();
  if (scores->kind == ScoreKind::kVerification)
    reader.Fail("a verification that leaves places out");
  scores->restriction = ReadRestriction(reader, reader.ok() ? scores->templates : 0);
  return reader.status();
}

void WriteOrigin(ByteWriter& writer, const ReplyOrigin& origin) {
  writer.Raw(origin.gallery);
  writer.U64(origin.generation);
  for (const Digest& digest : {origin.root, origin.nonce, origin.commitment}) writer.Raw(digest);
}

ReplyOrigin ReadOrigin(ByteReader& reader) {
  ReplyOrigin origin;
  origin.gallery = ckks::ReadId(reader);
  origin.generation = reader.U64();
  for (Digest* digest : {&origin.root, &origin.nonce, &origin.commitment}) {
    const ByteSpan raw = reader.Raw(digest->size());
    if (reader.ok()) std::ranges::copy(raw, digest->begin());
  }
  return origin;
}

}  // namespace

ckks::Ciphertext ScoreReply::Full(const ckks::Context& context) const {
  return brief ? ckks::Lengthen(context, *brief) : scores;
}

std::vector<uint64_t> ReplyBlocks(const ckks::Context& context, const EncryptedScores& scores) {
  if (scores.restriction) return scores.restriction->answering.Blocks(PlacesPerBlock(context));
  std::vector<uint64_t> blocks(ReplyCount(context, scores));
  std::iota(blocks.begin(), blocks.end(), uint64_t{0});
  return blocks;
}

std::vector<ScoreReply::Answer> IdentificationAnswers(const ckks::Context& context, uint64_t block,
                                                      const EncryptedScores& scores) {
  const uint32_t slots = context.slots();
  const uint64_t first = block * PlacesPerBlock(context);
  std::vector<ScoreReply::Answer> answers;
  for (uint32_t i = 0; i < 2 * slots && first + i < scores.templates; ++i) {
    if (!scores.Answers(first + i)) continue;
    answers.push_back({i % slots, i / slots, static_cast<uint32_t>(first + i)});
  }
  return answers;
}

void Restrict(const ckks::Context& context, Restriction restriction, EncryptedScores* scores) {
  if (restriction.answering.count() == restriction.answering.places()) return;
  scores->restriction = std::move(restriction);
  for (size_t i = 0; i < scores->identities.size(); ++i) {
    if (!scores->Answers(i)) scores->identities[i].clear();
  }
  std::vector<ScoreReply> kept;
  for (const uint64_t block : ReplyBlocks(context, *scores)) {
    kept.push_back(std::move(scores->replies[block]));
  }
  scores->replies = std::move(kept);
}

namespace {

// SizeOf: an estimate, large enough that the written bytes are not moved as they grow.
size_t SizeOf(const ckks::Context& context, const EncryptedScores& scores) {
  size_t size = size_t{64} << 10;  // the norm, and all that is small
  for (const std::string& identity : scores.identities) size += 1 + identity.size();
  if (scores.restriction) size += scores.templates / 8;
  if (scores.replies.empty()) return size;
  ByteWriter one;
  WriteReply(one, context, scores, scores.replies[0]);
  return size + scores.replies.size() * one.bytes().size();
}

}  // namespace

std::vector<uint8_t> SerializeScores(const ckks::Context& context, const EncryptedScores& scores) {
  ByteWriter writer;
  WriteScores(writer, context, scores);
  return writer.Take();
}

Hash WriteScores(ByteWriter& writer, const ckks::Context& context, const EncryptedScores& scores) {
  writer.Reserve(writer.bytes().size() + SizeOf(context, scores));
  const size_t start = BeginEnvelope(kScoresKind, kScoresVersion, &writer);
  ckks::WriteId(writer, scores.params_id);
  ckks::WriteId(writer, scores.key_id);
  ckks::WriteId(writer, scores.model_id);
  writer.U8(static_cast<uint8_t>(scores.kind));
  writer.U8(static_cast<uint8_t>(scores.modalities));
  writer.String(scores.probe);
  writer.String(scores.claimed);
  writer.U64(scores.identities.size());
  for (const std::string& identity : scores.identities) WriteName(writer, identity);
  writer.U64(scores.templates);
  writer.U8(scores.restriction ? 1 : 0);
  if (scores.restriction) WriteRestriction(writer, *scores.restriction);
  const bool brief = !scores.replies.empty() && scores.replies[0].brief.has_value();
  writer.U8(static_cast<uint8_t>(scores.norm_form));
  if (scores.norm_form != NormForm::kNone) ckks::WriteCiphertext(writer, context, scores.norm);
  writer.U8(brief ? 1 : 0);
  writer.U64(scores.replies.size());
  for (const ScoreReply& reply : scores.replies) {
    WriteReply(writer, context, scores, reply);
  }
  writer.U64(scores.head.size());
  writer.Raw(scores.head);
  WriteOrigin(writer, scores.origin);
  return EndEnvelope(start, &writer);
}

absl::StatusOr<ReplyOrigin> OriginOf(ByteSpan reply, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(reply, Unsigned(reply, what));
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(reply, kScoresKind, kScoresVersion, what));
  ByteReader reader(payload.last(std::min(payload.size(), kOriginSize)), what);
  const ReplyOrigin origin = ReadOrigin(reader);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return origin;
}

absl::StatusOr<EncryptedScores> ParseAboutScores(const ckks::Context& context, ByteSpan bytes,
                                                 std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kScoresKind, kScoresVersion, what, Checksum::kKnown));
  ByteReader reader(payload, what);
  EncryptedScores about;
  HEFT_RETURN_IF_ERROR(ReadAbout(reader, context, what, &about));
  return about;
}

absl::StatusOr<EncryptedScores> ParseScores(const ckks::Context& context, ByteSpan bytes,
                                            std::string_view what, Checksum checksum) {
  HEFT_ASSIGN_OR_RETURN(bytes, Unsigned(bytes, what));
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kScoresKind, kScoresVersion, what, checksum));
  ByteReader reader(payload, what);
  EncryptedScores scores;
  HEFT_RETURN_IF_ERROR(ReadHead(reader, context, what, &scores));
  ReadNormOf(reader, context, &scores);
  const bool verification = scores.kind == ScoreKind::kVerification;
  const uint8_t form = reader.U8();
  if (form > 1) reader.Fail("replies of an unknown form");
  const bool brief = form == 1;
  const uint64_t replies = reader.Count(sizeof(uint64_t), 1 << 24);
  if (brief && (verification || replies == 0)) {
    reader.Fail("short replies are those of an identification, one at least");
  }
  if (reader.ok() && !CountsAgree(context, scores, replies)) {
    reader.Fail("the numbers of identities, templates and replies do not agree");
  }
  if (reader.ok()) HEFT_RETURN_IF_ERROR(CheckNames(scores, what));
  std::vector<uint64_t> blocks(replies);
  if (reader.ok() && !verification) blocks = ReplyBlocks(context, scores);
  for (uint64_t i = 0; i < replies && reader.ok(); ++i) {
    scores.replies.push_back(ReadReply(reader, context, scores, blocks[i], brief));
  }
  const ByteSpan head = reader.Raw(reader.Count(1, kMaxHeadBytes));
  scores.head.assign(head.begin(), head.end());
  scores.origin = ReadOrigin(reader);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return scores;
}

}  // namespace heft
