// SPDX-License-Identifier: Apache-2.0
// The bytes of a journal's entries and of a ledger (docs/formats.md, kind JRNL).
#include <algorithm>

#include "ckks/serialization.h"
#include "owner/query_ledger.h"

namespace heft {
namespace {

constexpr uint64_t kMaxCounted = uint64_t{1} << 28;  // of anything that is counted
constexpr size_t kMaxText = 4096;
constexpr size_t kLimitsSize = 32, kBucketSize = 16, kUseSize = 16 + kBucketSize;

template <size_t kSize>
std::array<uint8_t, kSize> Read(ByteReader& reader) {
  std::array<uint8_t, kSize> out{};
  const ByteSpan raw = reader.Raw(kSize);
  std::copy_n(raw.begin(), std::min(raw.size(), kSize), out.begin());
  return out;
}

void WriteLimits(ByteWriter& writer, const BudgetLimits& limits) {
  writer.U64(limits.scores);
  writer.U64(limits.decisions);
  writer.U64(limits.client_bits);
  writer.U64(limits.rejections);
}

BudgetLimits ReadLimits(ByteReader& reader) {
  BudgetLimits limits;
  limits.scores = reader.U64();
  limits.decisions = reader.U64();
  limits.client_bits = reader.U64();
  limits.rejections = reader.U64();
  return limits;
}

bool ReadBool(ByteReader& reader) {
  const uint8_t value = reader.U8();
  if (value > 1) reader.Fail("a yes or no that is neither");
  return value == 1;
}

template <typename T>  // Use, ClientUse
void WriteUse(ByteWriter& writer, uint64_t first, uint64_t second, const T& use) {
  writer.U64(first);
  writer.U64(second);
  writer.U64(use.bucket.spent);
  writer.U64(use.bucket.time);
}

QueryLedger::Use ReadUse(ByteReader& reader) {
  QueryLedger::Use use;
  use.scores = reader.U64();
  use.decisions = reader.U64();
  use.bucket.spent = reader.U64();
  use.bucket.time = reader.U64();
  return use;
}

// ReadMap: entries in rising order; one that stood twice would lose what the first one counted.
template <typename Map, typename ReadKey, typename ReadValue>
void ReadMap(ByteReader& reader, size_t entry_size, Map* map, ReadKey&& read_key,
             ReadValue&& read_value) {
  const uint64_t count = reader.Count(entry_size, kMaxCounted);
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    const typename Map::key_type key = read_key();
    if (!map->empty() && !(map->rbegin()->first < key)) reader.Fail("entries out of order");
    map->emplace_hint(map->end(), key, read_value());
  }
}

void WriteModel(ByteWriter& writer, const QueryLedger::ModelUse& use) {
  writer.U8(use.limits ? 1 : 0);
  WriteLimits(writer, use.limits.value_or(BudgetLimits()));
  writer.U64(use.measured);
  writer.U64(use.identifications);
  writer.U64(use.verifications);
  writer.U64(use.identities.size());
  for (const auto& [tag, of] : use.identities) {
    writer.Raw(tag);
    WriteUse(writer, of.scores, of.decisions, of);
  }
  writer.U64(use.shares.size());
  for (const auto& [key, of] : use.shares) {
    writer.Raw(key.first);
    writer.Raw(key.second);
    WriteUse(writer, of.scores, of.decisions, of);
    writer.U64(of.rejections.spent);
    writer.U64(of.rejections.time);
  }
  writer.U64(use.clients.size());
  for (const auto& [client, of] : use.clients) {
    writer.Raw(client);
    WriteUse(writer, of.openings, of.slots, of);
  }
}

void WriteState(ByteWriter& writer, const SignedState& state) {
  writer.Raw(state.gallery);
  writer.U64(state.generation);
  writer.Raw(state.root);
}

SignedState ReadState(ByteReader& reader) {
  SignedState state;
  state.gallery = Read<16>(reader);
  state.generation = reader.U64();
  state.root = Read<32>(reader);
  return state;
}

QueryLedger::ModelUse ReadModel(ByteReader& reader) {
  QueryLedger::ModelUse use;
  const bool limited = ReadBool(reader);
  const BudgetLimits limits = ReadLimits(reader);
  if (limited) use.limits = limits;
  use.measured = reader.U64();
  if (!limited && use.measured > 0) reader.Fail("a measurement without limits");
  use.identifications = reader.U64();
  use.verifications = reader.U64();
  const auto tag = [&] { return Read<16>(reader); };
  const auto client = [&] { return Read<32>(reader); };
  const auto read_use = [&] { return ReadUse(reader); };
  ReadMap(reader, 16 + kUseSize, &use.identities, tag, read_use);
  const auto both = [&] {
    const IdentityTag first = tag();
    return std::make_pair(first, ClientId(client()));
  };
  ReadMap(reader, 48 + kUseSize + kBucketSize, &use.shares, both, [&] {
    QueryLedger::ShareUse share{ReadUse(reader), {}};
    share.rejections.spent = reader.U64();
    share.rejections.time = reader.U64();
    return share;
  });
  ReadMap(reader, 32 + kUseSize, &use.clients, client, [&] {
    const QueryLedger::Use fields = ReadUse(reader);
    return QueryLedger::ClientUse{fields.scores, fields.decisions, fields.bucket};
  });
  return use;
}

}  // namespace

std::vector<uint8_t> QueryLedger::Serialize() const {
  ByteWriter writer;
  writer.Raw(successor);
  writer.U64(time);
  writer.U64(restarts.size());
  for (const Restart& restart : restarts) {
    writer.U64(restart.time);
    writer.String(restart.reason);
  }
  writer.U64(models.size());
  for (const auto& [model, use] : models) {
    writer.Raw(model);
    WriteModel(writer, use);
  }
  const size_t left_out = replies.size() - std::min(replies.size(), kMaxReplies);
  writer.U64(replies.size() - left_out);
  for (size_t i = left_out; i < replies.size(); ++i) {
    writer.Raw(replies[i].first);
    writer.U64(replies[i].second);
  }
  writer.U64(passed_on);
  writer.U64(states.size());
  for (const auto& [id, state] : states) WriteState(writer, state);
  writer.U64(reckoning.time);
  writer.U64(reckoning.skips.size());
  for (const Reckoning::Skip& skip : reckoning.skips) {
    writer.U64(skip.clock);
    writer.U64(skip.seconds);
  }
  writer.Raw(gallery);
  writer.U64(told);
  writer.U64(proofs);
  return writer.Take();
}

absl::StatusOr<QueryLedger> QueryLedger::Parse(ByteSpan bytes, std::string_view what) {
  ByteReader reader(bytes, what);
  QueryLedger ledger;
  ledger.successor = Read<16>(reader);
  ledger.time = reader.U64();
  const uint64_t restarts = reader.Count(16, kMaxCounted);
  for (uint64_t i = 0; i < restarts && reader.ok(); ++i) {
    const uint64_t when = reader.U64();
    ledger.restarts.push_back({when, reader.String(kMaxText)});
  }
  ReadMap(
      reader, 16 + 1 + kLimitsSize + 48, &ledger.models, [&] { return ModelId(Read<16>(reader)); },
      [&] { return ReadModel(reader); });
  const uint64_t replies = reader.Count(24, kMaxReplies);
  for (uint64_t i = 0; i < replies && reader.ok(); ++i) {
    const ReplyTag reply = Read<16>(reader);
    ledger.replies.emplace_back(reply, reader.U64());
  }
  ledger.passed_on = reader.U64();
  const uint64_t states = reader.Count(56, kMaxCounted);
  for (uint64_t i = 0; i < states && reader.ok(); ++i) {
    const SignedState state = ReadState(reader);
    if (!ledger.states.emplace(state.gallery, state).second) reader.Fail("a gallery twice");
  }
  ledger.reckoning.time = reader.U64();
  const uint64_t skips = reader.Count(16, Reckoning::kMaxSkips);
  for (uint64_t i = 0; i < skips && reader.ok(); ++i) {
    const uint64_t clock = reader.U64();
    ledger.reckoning.skips.push_back({clock, reader.U64()});
  }
  ledger.gallery = Read<16>(reader);
  ledger.told = reader.U64();
  ledger.proofs = reader.U64();
  HEFT_RETURN_IF_ERROR(reader.Finish());
  ledger.Index();
  return ledger;
}

std::vector<uint8_t> Entry::Serialize() const {
  ByteWriter writer;
  writer.U64(sequence);
  writer.U64(time);
  writer.Raw(nonce);
  writer.U8(static_cast<uint8_t>(act));
  writer.Raw(client);
  writer.Raw(model);
  writer.U8(verification ? 1 : 0);
  writer.U8(decision ? 1 : 0);
  writer.U8(claimed ? 1 : 0);
  writer.U32(slots);
  writer.Raw(reply);
  writer.U64(identities.size());
  for (const IdentityTag& identity : identities) writer.Raw(identity);
  WriteLimits(writer, limits);
  writer.Raw(successor);
  writer.String(text);
  writer.U64(state.size());
  writer.Raw(state);
  if (act == Act::kLimits) writer.U64(measured);
  if (act == Act::kState) WriteState(writer, signed_state);
  if (act == Act::kGallery) writer.Raw(gallery);
  if (act == Act::kOpening) writer.U64(told);
  if (act == Act::kProofs) writer.U64(proofs);
  return writer.Take();
}

absl::StatusOr<Entry> Entry::Parse(ByteSpan bytes, std::string_view what) {
  ByteReader reader(bytes, what);
  Entry entry;
  entry.sequence = reader.U64();
  entry.time = reader.U64();
  entry.nonce = Read<16>(reader);
  const uint8_t act = reader.U8();
  if (act < 1 || act > static_cast<uint8_t>(Act::kProofs)) reader.Fail("an unknown act");
  entry.act = static_cast<Act>(act);
  entry.client = Read<32>(reader);
  entry.model = Read<16>(reader);
  entry.verification = ReadBool(reader);
  entry.decision = ReadBool(reader);
  entry.claimed = ReadBool(reader);
  entry.slots = reader.U32();
  entry.reply = Read<16>(reader);
  const uint64_t identities = reader.Count(16, kMaxCounted);
  for (uint64_t i = 0; i < identities && reader.ok(); ++i) {
    entry.identities.push_back(Read<16>(reader));
  }
  entry.limits = ReadLimits(reader);
  entry.successor = Read<16>(reader);
  entry.text = reader.String(kMaxText);
  const uint64_t state = reader.Count(1, uint64_t{1} << 34);
  const ByteSpan raw = reader.Raw(state);
  entry.state.assign(raw.begin(), raw.end());
  if (entry.act == Act::kLimits) entry.measured = reader.U64();
  if (entry.act == Act::kState) entry.signed_state = ReadState(reader);
  if (entry.act == Act::kGallery) entry.gallery = Read<16>(reader);
  if (entry.act == Act::kOpening) entry.told = reader.U64();
  if (entry.act == Act::kProofs) entry.proofs = reader.U64();
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return entry;
}

}  // namespace heft
