// SPDX-License-Identifier: Apache-2.0
#include "seal/encryption.h"

#include <blake2.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "seal/format.h"

namespace heft::seal {
namespace {

// kFieldsSize: parms_id, is_ntt_form, size, degree, primes, scale, correction factor.
constexpr size_t kFieldsSize = sizeof(ParmsId) + 1 + 5 * sizeof(uint64_t);
constexpr size_t kSeedSize = 1 + sizeof(SealSeed::bytes);
constexpr uint64_t kMaxParts = 3;

absl::Status BadObject(std::string_view what, std::string_view why) {
  return absl::DataLossError(absl::StrCat(std::string(what), ": ", std::string(why)));
}

void WriteSeed(ByteWriter& writer, const SealSeed& seed) {
  WriteHeader(writer, kHeaderSize + kSeedSize);
  writer.U8(static_cast<uint8_t>(seed.kind));
  writer.Raw(seed.bytes);
}

absl::StatusOr<SealSeed> ReadSeed(ByteReader& reader, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan members, ReadNested(reader, what));
  ByteReader fields(members, what);
  const uint8_t kind = fields.U8();
  const ByteSpan bytes = fields.Raw(sizeof(SealSeed::bytes));
  HEFT_RETURN_IF_ERROR(fields.Finish());
  SealSeed seed;
  if (kind != static_cast<uint8_t>(SeedKind::kBlake2xb) &&
      kind != static_cast<uint8_t>(SeedKind::kShake256)) {
    return BadObject(what, absl::StrCat("a seed for an unknown generator, ", kind));
  }
  seed.kind = static_cast<SeedKind>(kind);
  std::copy(bytes.begin(), bytes.end(), seed.bytes.begin());
  return seed;
}

struct Fields {
  size_t primes = 0;
  uint8_t ntt = 0;
  uint64_t size = 0;
  double scale = 0;
};

absl::StatusOr<Fields> ReadFields(const ckks::Context& context, ByteReader& reader,
                                  std::string_view what) {
  Fields fields;
  HEFT_ASSIGN_OR_RETURN(fields.primes, ReadLevel(reader, context.params(), what));
  fields.ntt = reader.U8();
  fields.size = reader.U64();
  const uint64_t n = reader.U64();
  const uint64_t primes = reader.U64();
  fields.scale = reader.F64();
  const uint64_t correction = reader.U64();
  HEFT_RETURN_IF_ERROR(reader.status());
  if (n != context.n() || primes != fields.primes) {
    return BadObject(what, "degree or number of primes do not agree with the parms_id");
  }
  if (fields.ntt != 1) return BadObject(what, "not in NTT form, as CKKS ciphertexts are");
  if (correction != 1) return BadObject(what, "a correction factor other than 1");
  const double bits = context.params().Bits(fields.primes);
  if (!std::isnormal(fields.scale) || fields.scale < 0 || std::log2(fields.scale) >= bits) {
    return BadObject(what, absl::StrCat("the scale is not a positive number below the modulus of ",
                                        bits, " bits"));
  }
  if (fields.size < 2 || fields.size > kMaxParts) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(what), ": ", fields.size,
                     " parts, but 2 or 3 are needed: relinearise it in SEAL first"));
  }
  return fields;
}

}  // namespace

size_t EncryptionSize(uint32_t n, size_t parts, size_t primes, bool seeded) {
  const size_t stored = seeded ? 1 : parts;
  return kFieldsSize + kArrayOverhead + stored * primes * n * sizeof(uint64_t) +
         (seeded ? kHeaderSize + kSeedSize : 0);
}

void WriteEncryption(ByteWriter& writer, const ckks::Context& context,
                     std::span<const ring::RnsPoly> parts, double scale, const SealSeed* seed) {
  const size_t primes = parts[0].limbs();
  writer.Raw(ParmsIdOf(context.params(), primes));
  writer.U8(1);
  writer.U64(parts.size());
  writer.U64(context.n());
  writer.U64(primes);
  writer.F64(scale);
  writer.U64(1);
  const std::span<const ring::RnsPoly> stored = seed == nullptr ? parts : parts.first(1);
  WriteArrayHeader(writer, stored.size() * primes * context.n());
  for (const ring::RnsPoly& part : stored) WriteResidues(writer, part);
  if (seed != nullptr) WriteSeed(writer, *seed);
}

absl::StatusOr<Encryption> ReadEncryption(const ckks::Context& context, ByteSpan members,
                                          std::string_view what) {
  ByteReader reader(members, what);
  HEFT_ASSIGN_OR_RETURN(const Fields fields, ReadFields(context, reader, what));
  HEFT_ASSIGN_OR_RETURN(const ByteSpan array, ReadNested(reader, what));
  ByteReader elements(array, what);
  const uint64_t count = elements.U64();
  HEFT_RETURN_IF_ERROR(elements.status());
  const uint64_t poly = uint64_t{fields.primes} * context.n();
  const bool seeded = fields.size == 2 && count == poly;
  if (!seeded && count != fields.size * poly) {
    return BadObject(what,
                     absl::StrCat(count, " residues where ", fields.size * poly, " are needed"));
  }
  Encryption out;
  out.scale = fields.scale;
  for (uint64_t p = 0; p < (seeded ? 1 : fields.size) && elements.ok(); ++p) {
    out.parts.push_back(ReadResidues(elements, context, fields.primes));
  }
  HEFT_RETURN_IF_ERROR(elements.Finish());
  if (seeded) {
    HEFT_ASSIGN_OR_RETURN(out.seed, ReadSeed(reader, what));
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  if (seeded) out.parts.push_back(ExpandSeed(context, *out.seed, fields.primes));
  return out;
}

namespace {

using Block = std::array<uint8_t, 4096>;

// kXofLength: of BLAKE2X (Aumasson et al., 2016); the upper half of the node offset holds the
// length of the whole output.
constexpr uint64_t kXofLength = uint64_t{sizeof(Block)} << 32;
constexpr size_t kDigest = BLAKE2B_OUTBYTES;

Block Blake2xb(const SealSeed& seed, std::span<const uint8_t, 8> counter) {
  blake2b_param root{};
  root.digest_length = kDigest;
  root.key_length = static_cast<uint8_t>(seed.bytes.size());
  root.fanout = 1;
  root.depth = 1;
  root.node_offset = kXofLength;
  std::array<uint8_t, BLAKE2B_BLOCKBYTES> key{};
  std::copy(seed.bytes.begin(), seed.bytes.end(), key.begin());
  std::array<uint8_t, kDigest> digest;
  blake2b_state state;
  blake2b_init_param(&state, &root);
  blake2b_update(&state, key.data(), key.size());
  blake2b_update(&state, counter.data(), counter.size());
  blake2b_final(&state, digest.data(), digest.size());

  blake2b_param leaf{};
  leaf.digest_length = kDigest;
  leaf.leaf_length = kDigest;
  leaf.inner_length = kDigest;
  Block out;
  for (size_t i = 0; i < out.size() / kDigest; ++i) {
    leaf.node_offset = kXofLength | i;
    blake2b_init_param(&state, &leaf);
    blake2b_update(&state, digest.data(), digest.size());
    blake2b_final(&state, out.data() + i * kDigest, kDigest);
  }
  return out;
}

Block Shake256(const SealSeed& seed, std::span<const uint8_t, 8> counter) {
  Block out;
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  EVP_DigestInit_ex(context, EVP_shake256(), nullptr);
  EVP_DigestUpdate(context, seed.bytes.data(), seed.bytes.size());
  EVP_DigestUpdate(context, counter.data(), counter.size());
  EVP_DigestFinalXOF(context, out.data(), out.size());
  EVP_MD_CTX_free(context);
  return out;
}

// Words: the stream as 64-bit words.
class Words {
 public:
  explicit Words(const SealSeed& seed) : seed_(seed) {}
  uint64_t Next() {
    if (used_ == block_.size()) {
      const Block block = SeedBlock(seed_, counter_++);
      std::memcpy(block_.data(), block.data(), block.size());
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  SealSeed seed_;
  uint64_t counter_ = 0;
  std::array<uint64_t, sizeof(Block) / sizeof(uint64_t)> block_;
  size_t used_ = sizeof(Block) / sizeof(uint64_t);
};

}  // namespace

std::array<uint8_t, 4096> SeedBlock(const SealSeed& seed, uint64_t counter) {
  std::array<uint8_t, 8> bytes;
  std::memcpy(bytes.data(), &counter, bytes.size());  // little-endian, as base/bytes.cc asserts
  return seed.kind == SeedKind::kBlake2xb ? Blake2xb(seed, bytes) : Shake256(seed, bytes);
}

ring::RnsPoly ExpandSeed(const ckks::Context& context, const SealSeed& seed, size_t primes) {
  const size_t n = context.n();
  Words stream(seed);
  // All words first: the words after them replace rejected ones.
  std::vector<uint64_t> words(n * primes);
  for (uint64_t& word : words) word = stream.Next();
  ring::RnsPoly out(n, primes);
  for (size_t i = 0; i < words.size(); ++i) {
    const uint64_t q = context.modulus(i / n).value();
    const uint64_t limit = UINT64_MAX - UINT64_MAX % q - 1;
    while (words[i] >= limit) words[i] = stream.Next();
    out.values()[i] = static_cast<uint32_t>(words[i] % q);
  }
  return out;
}

}  // namespace heft::seal
