// SPDX-License-Identifier: Apache-2.0
#include "seal/keys.h"

#include <algorithm>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "seal/encryption.h"
#include "seal/format.h"

namespace heft::seal {
namespace {

// kMaxExpansion: random residues do not compress, and a prime has at least 10 of 64 bits. A stream
// that expands further is not a key.
constexpr size_t kMaxExpansion = 7;

size_t KeyPrimes(const ckks::Context& context) { return context.params().limbs() + 1; }

const SealSeed* SeedOf(const KeyPart& part) { return part.seed ? &*part.seed : nullptr; }

// WriteKeyPart: with its header, because it is nested.
void WriteKeyPart(ByteWriter& writer, const ckks::Context& context, const KeyPart& part) {
  const size_t size = EncryptionSize(context.n(), 2, KeyPrimes(context), part.seed.has_value());
  WriteHeader(writer, kHeaderSize + size);
  const ring::RnsPoly parts[] = {part.b, part.a};
  WriteEncryption(writer, context, parts, 1.0, SeedOf(part));
}

absl::StatusOr<KeyPart> ReadKeyPart(const ckks::Context& context, ByteSpan members,
                                    std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(Encryption read, ReadEncryption(context, members, what));
  if (read.parts.size() != 2 || read.parts[0].limbs() != KeyPrimes(context) || read.scale != 1) {
    return absl::DataLossError(
        absl::StrCat(std::string(what), ": not a key: it is not two parts at the key level"));
  }
  KeyPart part;
  part.b = std::move(read.parts[0]);
  part.a = std::move(read.parts[1]);
  part.seed = read.seed;
  return part;
}

// WriteSwitchKeys: `slots` by SEAL's index; nullptr for a missing key.
std::vector<uint8_t> WriteSwitchKeys(const ckks::Context& context,
                                     const std::vector<const KeyDigits*>& slots,
                                     Compression compression) {
  ByteWriter writer;
  writer.Raw(ParmsIdOf(context.params(), KeyPrimes(context)));
  writer.U64(slots.size());
  for (const KeyDigits* key : slots) {
    writer.U64(key == nullptr ? 0 : key->size());
    if (key == nullptr) continue;
    for (const KeyPart& part : *key) WriteKeyPart(writer, context, part);
  }
  return WrapObject(writer.bytes(), compression);
}

// ReadSwitchKeys: calls `take(slot, digits)` for every key after checking it; `take` returns false
// to stop.
absl::Status ReadSwitchKeys(const ckks::Context& context, ByteSpan bytes, size_t max_slots,
                            std::string_view what,
                            const std::function<bool(size_t, KeyDigits)>& take) {
  const size_t expanded = kMaxExpansion * bytes.size() + (max_slots + 16) * sizeof(uint64_t);
  HEFT_ASSIGN_OR_RETURN(const Members members,
                        Members::Open(bytes, std::min<size_t>(expanded, kMaxFileSize), what));
  ByteReader reader(members.span(), what);
  HEFT_ASSIGN_OR_RETURN(const size_t primes, ReadLevel(reader, context.params(), what));
  if (primes != KeyPrimes(context)) reader.Fail("not of the key level");
  const uint64_t slots = reader.Count(sizeof(uint64_t), max_slots);
  const size_t digits = context.params().limbs();
  for (uint64_t slot = 0; slot < slots && reader.ok(); ++slot) {
    const uint64_t count = reader.Count(kHeaderSize, digits);
    if (count == 0) continue;
    if (count != digits) {
      reader.Fail(absl::StrCat(count, " digits of a key where ", digits, " are needed"));
    }
    KeyDigits key;
    for (uint64_t digit = 0; digit < count && reader.ok(); ++digit) {
      HEFT_ASSIGN_OR_RETURN(const ByteSpan nested, ReadNested(reader, what));
      HEFT_ASSIGN_OR_RETURN(KeyPart part, ReadKeyPart(context, nested, what));
      key.push_back(std::move(part));
    }
    if (reader.ok() && !take(slot, std::move(key))) return absl::CancelledError("interrupted");
  }
  return reader.Finish();
}

// CutPoly: the first `limbs` limbs and the last one.
ring::RnsPoly CutPoly(const ring::RnsPoly& poly, size_t limbs) {
  ring::RnsPoly out(poly.n(), limbs + 1);
  for (size_t l = 0; l <= limbs; ++l) {
    const std::span<const uint32_t> from = poly.limb(l < limbs ? l : poly.limbs() - 1);
    std::copy(from.begin(), from.end(), out.limb(l).begin());
  }
  return out;
}

}  // namespace

std::vector<uint8_t> WritePublicKey(const ckks::Context& context, const KeyPart& key,
                                    Compression compression) {
  ByteWriter writer;
  const ring::RnsPoly parts[] = {key.b, key.a};
  WriteEncryption(writer, context, parts, 1.0, SeedOf(key));
  return WrapObject(writer.bytes(), compression);
}

absl::StatusOr<KeyPart> ReadPublicKey(const ckks::Context& context, ByteSpan bytes,
                                      std::string_view what) {
  const size_t max_size = EncryptionSize(context.n(), 2, KeyPrimes(context), false);
  HEFT_ASSIGN_OR_RETURN(const Members members, Members::Open(bytes, max_size, what));
  return ReadKeyPart(context, members.span(), what);
}

std::vector<uint8_t> WriteRelinearisationKey(const ckks::Context& context, const KeyDigits& key,
                                             Compression compression) {
  return WriteSwitchKeys(context, {&key}, compression);
}

absl::StatusOr<KeyDigits> ReadRelinearisationKey(const ckks::Context& context, ByteSpan bytes,
                                                 std::string_view what) {
  constexpr size_t kMaxPowers = 14;  // SEAL's largest ciphertext has 16 parts
  KeyDigits out;
  HEFT_RETURN_IF_ERROR(
      ReadSwitchKeys(context, bytes, kMaxPowers, what, [&](size_t slot, KeyDigits key) {
        if (slot == 0) out = std::move(key);
        return true;
      }));
  if (!out.empty()) return out;
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(what), ": holds no relinearisation key for s^2"));
}

std::vector<uint8_t> WriteGaloisKeys(const ckks::Context& context,
                                     const std::map<uint32_t, KeyDigits>& keys,
                                     Compression compression) {
  std::vector<const KeyDigits*> slots;
  for (const auto& [element, key] : keys) {
    slots.resize(std::max<size_t>(slots.size(), (element - 1) / 2 + 1), nullptr);
    slots[(element - 1) / 2] = &key;
  }
  return WriteSwitchKeys(context, slots, compression);
}

absl::StatusOr<std::map<uint32_t, ckks::FullSwitchKey>> ReadGaloisKeys(
    const ckks::Context& context, ByteSpan bytes, const std::map<uint32_t, size_t>& wanted,
    std::string_view what, const std::function<bool(size_t, size_t)>& progress) {
  std::map<uint32_t, ckks::FullSwitchKey> out;
  HEFT_RETURN_IF_ERROR(
      ReadSwitchKeys(context, bytes, context.n(), what, [&](size_t slot, KeyDigits key) {
        const uint32_t element = static_cast<uint32_t>(2 * slot + 1);
        const auto it = wanted.find(element);
        if (it != wanted.end()) out[element] = CutKey(key, it->second);
        return !progress || progress(out.size(), wanted.size());
      }));
  return out;
}

std::vector<uint32_t> RotationSteps(const ckks::Params& params,
                                    const std::map<uint32_t, size_t>& elements) {
  std::vector<uint32_t> steps;
  for (uint32_t step = 1; step < params.slots(); ++step) {
    if (elements.count(ckks::RotationElement(params, step)) != 0) steps.push_back(step);
  }
  return steps;
}

ckks::FullSwitchKey CutKey(const KeyDigits& key, size_t limbs) {
  ckks::FullSwitchKey out;
  for (size_t digit = 0; digit < limbs; ++digit) {
    out.b.push_back(CutPoly(key[digit].b, limbs));
    out.a.push_back(CutPoly(key[digit].a, limbs));
  }
  return out;
}

ckks::PublicKey ToPublicKey(const ckks::KeyId& key_id, const KeyPart& key) {
  ckks::PublicKey out;
  out.key_id = key_id;
  out.seeded = false;
  out.b = key.b;
  out.a = key.a;
  return out;
}

KeyPart FromPublicKey(const ckks::PublicKey& key) {
  KeyPart out;
  out.b = key.b;
  out.a = key.a;
  return out;
}

}  // namespace heft::seal
