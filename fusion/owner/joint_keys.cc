// SPDX-License-Identifier: Apache-2.0
#include "fusion/owner/joint_keys.h"

#include <utility>

#include "base/threads.h"
#include "ckks/serialization.h"

namespace heft {
namespace {

enum class JointKind { kLift, kMask, kGalois, kRingSwitch };

// JointItem: one switching key of KeyParts.
struct JointItem {
  JointKind kind;
  bool matching;  // its ring
  uint32_t element;
  size_t limbs;
  const ckks::Context* context;
};

std::vector<JointItem> ItemsOf(const Rings& rings) {
  std::vector<JointItem> items;
  for (const bool matching : {true, false}) {
    const Instance& ring = matching ? rings.matching : rings.enrolment;
    const ckks::Context* context = ring.context.get();
    const KeyNeeds& needs = ring.plan.keys;
    for (const JointKind kind : {JointKind::kLift, JointKind::kMask}) {
      items.push_back({kind, matching, 1, needs.relinearisation_limbs, context});
    }
    for (const auto& [element, limbs] : needs.galois_keys) {
      items.push_back({JointKind::kGalois, matching, element, limbs, context});
    }
  }
  items.push_back({JointKind::kRingSwitch, false, 1, TemplateLimbs(rings.enrolment.params()),
                   rings.switching.get()});
  return items;
}

// MostBytes: of serialised parts, with four bytes for each residue.
size_t MostBytes(const std::vector<JointItem>& items) {
  size_t bytes = size_t{1} << 22;  // of both encryption keys
  for (const JointItem& item : items) {
    bytes += sizeof(Seed) + 8 + item.limbs * (item.limbs + 1) * item.context->n() * 4;
  }
  return bytes;
}

// CommonSeed: number `index` of a reference.
Seed CommonSeed(const Hash& reference, uint64_t index) {
  ByteWriter writer;
  writer.Raw(AsBytes("HEFT joint key, common seed, version 1"));
  writer.Raw(reference);
  writer.U64(index);
  return HashBytes(writer.bytes());
}
// The public keys have the first two; both parts of a relinearisation key have the same.
Seed EncryptionSeed(const Hash& reference, bool matching) {
  return CommonSeed(reference, matching ? 1 : 0);
}
Seed ItemSeed(const Hash& reference, const std::vector<JointItem>& items, size_t i) {
  return CommonSeed(reference, 2 + (items[i].kind == JointKind::kMask ? i - 1 : i));
}

const ckks::SecretKey& KeyOf(const SecretKeys& keys, bool matching) {
  return matching ? keys.matching() : keys.enrolment;
}

absl::StatusOr<ckks::SeededSwitchKey> MakeItem(const Rings& rings, const JointItem& item,
                                               const JointSecrets& secrets, const Seed& seed) {
  Csprng rng;
  const ckks::SecretKey& own = KeyOf(secrets.own, item.matching);
  switch (item.kind) {
    case JointKind::kLift:
      return ckks::MakeRekeyingKey(*item.context, own, KeyOf(secrets.ephemeral, item.matching),
                                   item.limbs, rng, &seed);
    case JointKind::kMask:
      return ckks::MakeZeroKey(*item.context, own, item.limbs, rng, seed);
    case JointKind::kGalois:
      return ckks::MakeGaloisKey(*item.context, own, item.element, item.limbs, rng, &seed);
    case JointKind::kRingSwitch:
      break;
  }
  return ckks::MakeRingSwitchKey(*rings.switching, secrets.own.enrolment, secrets.own.matching(),
                                 item.limbs, rng, &seed);
}

// ReadPart: a key of this form and seed.
ckks::SeededSwitchKey ReadPart(ByteReader& reader, const ckks::Context& context, size_t limbs,
                               const Seed& seed) {
  ckks::SeededSwitchKey key = ckks::ReadSwitchKey(reader, context);
  if (reader.ok() && (key.limbs != limbs || key.seed != seed)) {
    reader.Fail("a part of another key, or of other common seeds");
  }
  return key;
}

// The sums h0 and h1 of a ring.
std::vector<ckks::RelinearisationPart> RelinearisationSums(const std::vector<JointItem>& items,
                                                           const KeyParts& sums) {
  std::vector<ckks::RelinearisationPart> out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == JointKind::kLift) out.push_back({sums.keys[i], sums.keys[i + 1]});
  }
  return out;
}

const ckks::Context& LastContext(const Rings& rings, size_t i) {
  return i == 0 ? *rings.matching.context : *rings.enrolment.context;
}

}  // namespace

absl::StatusOr<KeyParts> MakeKeyParts(const Rings& rings, const JointSecrets& secrets,
                                      const Hash& reference) {
  const std::vector<JointItem> items = ItemsOf(rings);
  KeyParts parts;
  Csprng rng;
  const Seed large = EncryptionSeed(reference, false), small = EncryptionSeed(reference, true);
  parts.encryption.enrolment =
      ckks::MakePublicKey(*rings.enrolment.context, secrets.own.enrolment, rng, &large);
  parts.encryption.small =
      ckks::MakePublicKey(*rings.matching.context, secrets.own.matching(), rng, &small);
  parts.keys.resize(items.size());
  HEFT_RETURN_IF_ERROR(TryParallelFor(items.size(), [&](size_t i) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(parts.keys[i],
                          MakeItem(rings, items[i], secrets, ItemSeed(reference, items, i)));
    return absl::OkStatus();
  }));
  return parts;
}

void AddKeyParts(const Rings& rings, const KeyParts& part, KeyParts* sum) {
  const std::vector<JointItem> items = ItemsOf(rings);
  ckks::AddPart(*rings.enrolment.context, part.encryption.enrolment, &sum->encryption.enrolment);
  ckks::AddPart(*rings.matching.context, *part.encryption.small, &*sum->encryption.small);
  for (size_t i = 0; i < items.size(); ++i) {
    ckks::AddPart(*items[i].context, part.keys[i], &sum->keys[i]);
  }
}

std::vector<uint8_t> SerializeKeyParts(const Rings& rings, const KeyParts& parts) {
  const std::vector<JointItem> items = ItemsOf(rings);
  ByteWriter writer;
  writer.Reserve(MostBytes(items));
  ckks::WritePoly(writer, *rings.enrolment.context, parts.encryption.enrolment.b, true);
  ckks::WritePoly(writer, *rings.matching.context, parts.encryption.small->b, true);
  for (size_t i = 0; i < items.size(); ++i) {
    ckks::WriteSwitchKey(writer, *items[i].context, parts.keys[i]);
  }
  return writer.Take();
}

absl::StatusOr<KeyParts> ParseKeyParts(const Rings& rings, const Hash& reference, ByteSpan bytes,
                                       std::string_view what) {
  const std::vector<JointItem> items = ItemsOf(rings);
  ByteReader reader(bytes, what);
  KeyParts parts;
  parts.encryption.small.emplace();
  const auto encryption = [&](const Instance& ring, bool matching, ckks::PublicKey* key) {
    key->seed = EncryptionSeed(reference, matching);
    key->b = ckks::ReadPoly(reader, *ring.context, ring.params().limbs(), /*extended=*/true);
  };
  encryption(rings.enrolment, false, &parts.encryption.enrolment);
  if (reader.ok()) encryption(rings.matching, true, &*parts.encryption.small);
  for (size_t i = 0; i < items.size() && reader.ok(); ++i) {
    parts.keys.push_back(
        ReadPart(reader, *items[i].context, items[i].limbs, ItemSeed(reference, items, i)));
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return parts;
}

LastParts MakeLastParts(const Rings& rings, const JointSecrets& secrets, const KeyParts& sums,
                        const Hash& reference) {
  const auto both = RelinearisationSums(ItemsOf(rings), sums);
  LastParts out;
  for (size_t i = 0; i < both.size(); ++i) {
    Csprng rng;
    const bool matching = i == 0;
    out.push_back(ckks::FinishRelinearisationPart(
        LastContext(rings, i), KeyOf(secrets.own, matching), KeyOf(secrets.ephemeral, matching),
        both[i], rng, CommonSeed(reference, i)));
  }
  return out;
}

void AddLastParts(const Rings& rings, const LastParts& part, LastParts* sum) {
  for (size_t i = 0; i < part.size(); ++i) {
    ckks::AddPart(LastContext(rings, i), part[i], &sum->at(i));
  }
}

std::vector<uint8_t> SerializeLastParts(const Rings& rings, const LastParts& parts) {
  ByteWriter writer;
  for (size_t i = 0; i < parts.size(); ++i) {
    ckks::WriteSwitchKey(writer, LastContext(rings, i), parts[i]);
  }
  return writer.Take();
}

absl::StatusOr<LastParts> ParseLastParts(const Rings& rings, const Hash& reference, ByteSpan bytes,
                                         std::string_view what) {
  ByteReader reader(bytes, what);
  LastParts out;
  for (const bool matching : {true, false}) {
    const size_t limbs =
        (matching ? rings.matching : rings.enrolment).plan.keys.relinearisation_limbs;
    out.push_back(
        ReadPart(reader, LastContext(rings, out.size()), limbs, CommonSeed(reference, out.size())));
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return out;
}

JointKeyFiles MakeJointKeyFiles(const Rings& rings, const ckks::KeyId& key_id, KeyParts sums,
                                const LastParts& last) {
  const std::vector<JointItem> items = ItemsOf(rings);
  JointKeyFiles files;
  sums.encryption.enrolment.key_id = key_id;
  sums.encryption.small->key_id = key_id;
  files.encryption = SerializeEncryptionKeys(rings, sums.encryption);
  const auto evaluation = [&](bool matching) {
    const Instance& ring = matching ? rings.matching : rings.enrolment;
    EvaluationKeysWriter writer(*ring.context, key_id, 1 + ring.plan.keys.galois_keys.size());
    writer.Add(1, last[matching ? 0 : 1]);
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i].kind != JointKind::kGalois || items[i].matching != matching) continue;
      writer.Add(items[i].element, sums.keys[i]);
    }
    return writer.Finish();
  };
  files.evaluation = evaluation(true);
  files.enrolment = SerializeEnrolmentKeys(rings, key_id, evaluation(false), sums.keys.back());
  return files;
}

}  // namespace heft
