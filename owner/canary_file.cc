// SPDX-License-Identifier: Apache-2.0
// The canaries' file (kind CNRY, docs/formats.md): sealed under the secret key, or for each owner
// of a shared key.
#include <sodium.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/identity.h"
#include "base/signed_file.h"
#include "ckks/serialization.h"
#include "fusion/key_files.h"
#include "owner/canaries.h"
#include "owner/key_owner_impl.h"
#include "owner/owner_box.h"
#include "owner/sub_secret.h"

namespace heft {
namespace {

constexpr uint32_t kCanaryVersion = 1, kSharedCanaryVersion = 2;
constexpr std::string_view kPurpose = "HEFT canaries, version 1";
constexpr size_t kNonce = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kTag = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr size_t kBox = kOwnSecretSize + crypto_box_SEALBYTES;
constexpr uint64_t kMaxCanaries = 1000;

std::vector<uint8_t> HeaderOf(const Model& model, const KeyId& key_id) {
  ByteWriter writer;
  ckks::WriteId(writer, key_id);
  ckks::WriteId(writer, model.Id());
  return writer.Take();
}

std::vector<uint8_t> Write(const std::vector<Canaries::Triple>& triples,
                           const std::vector<Canaries::Probe>& probes) {
  ByteWriter writer;
  writer.U64(triples.size());
  for (const Canaries::Triple& triple : triples) {
    writer.F64(triple.a);
    writer.F64(triple.b);
    for (const Canaries::Person& person : triple.people) {
      writer.String(person.name);
      writer.F64Array(person.z);
    }
  }
  writer.U64(probes.size());
  for (const Canaries::Probe& probe : probes) {
    writer.String(probe.label);
    writer.U32(probe.triple);
    writer.U32(probe.person);
  }
  return writer.Take();
}

void ReadTriples(ByteReader& reader, const Model& model, std::vector<Canaries::Triple>* triples) {
  const uint64_t count = reader.Count(16 + 3 * (8 + 8 * model.gamma), kMaxCanaries);
  for (uint64_t t = 0; t < count && reader.ok(); ++t) {
    Canaries::Triple triple;
    triple.a = reader.F64();
    triple.b = reader.F64();
    for (Canaries::Person& person : triple.people) {
      person.name = reader.String(256);
      if (reader.ok() && !CheckIdentity(person.name).ok()) reader.Fail("a name that is none");
      person.z.resize(model.gamma);
      reader.F64Array(person.z);
    }
    triples->push_back(std::move(triple));
  }
}

void ReadProbes(ByteReader& reader, size_t triples, std::vector<Canaries::Probe>* probes) {
  const uint64_t count = reader.Count(16, kMaxCanaries);
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    Canaries::Probe probe;
    probe.label = reader.String(256);
    probe.triple = reader.U32();
    probe.person = reader.U32();
    if (probe.triple >= triples || probe.person >= 3) reader.Fail("a probe of nobody");
    probes->push_back(std::move(probe));
  }
}

// The key of the file, and for a shared key the boxes with it, one for each owner.
struct FileKey {
  SecureVector<uint8_t> key;
  std::vector<std::vector<uint8_t>> boxes;
};

absl::StatusOr<FileKey> NewKey(const HeldKey& held, const Ceremony* ceremony) {
  FileKey out;
  if (ceremony == nullptr) {
    HEFT_ASSIGN_OR_RETURN(out.key, SubSecret(held, kPurpose));
    return out;
  }
  HEFT_ASSIGN_OR_RETURN(out.key, NewOwnSecret());
  for (const Ceremony::Owner& owner : ceremony->owners) {
    HEFT_ASSIGN_OR_RETURN(auto box, SealFor(owner.signer, out.key.span()));
    out.boxes.push_back(std::move(box));
  }
  return out;
}

// KeyIn: the key of a file, from its beginning.
absl::StatusOr<SecureVector<uint8_t>> KeyIn(ByteReader& reader, const HeldKey& held,
                                            const Ceremony* ceremony) {
  if (ceremony == nullptr) return SubSecret(held, kPurpose);
  ByteSpan own;
  const uint64_t owners = reader.Count(kBox, ckks::kMaxOwners);
  for (uint64_t owner = 1; owner <= owners; ++owner) {
    const ByteSpan box = reader.Raw(kBox);
    if (owner == held.share()->owner()) own = box;
  }
  HEFT_RETURN_IF_ERROR(reader.status());
  return OpenBox(held, own);
}

// SignedByOwner: the file in one that an owner of the key has signed.
absl::StatusOr<ByteSpan> SignedByOwner(ByteSpan bytes, const Ceremony& ceremony,
                                       std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const Trust owners, ceremony.Signers());
  HEFT_ASSIGN_OR_RETURN(
      const SignedFile opened,
      OpenSigned(bytes, owners, {.roles = {Role::kKeyOwner}, .kind = std::string(kCanaryKind)},
                 what));
  return opened.file;
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> Canaries::Seal(const Model& model, const HeldKey& held,
                                                    const Ceremony* ceremony) const {
  HEFT_ASSIGN_OR_RETURN(const FileKey key, NewKey(held, ceremony));
  const std::vector<uint8_t> header = HeaderOf(model, held.key_id());
  const std::vector<uint8_t> plain = Write(triples_, probes_);
  std::vector<uint8_t> sealed(kNonce + plain.size() + kTag);
  randombytes_buf(sealed.data(), kNonce);
  crypto_aead_xchacha20poly1305_ietf_encrypt(sealed.data() + kNonce, nullptr, plain.data(),
                                             plain.size(), header.data(), header.size(), nullptr,
                                             sealed.data(), key.key.data());
  ByteWriter writer;
  writer.Raw(header);
  if (ceremony != nullptr) writer.U64(key.boxes.size());
  for (const std::vector<uint8_t>& box : key.boxes) writer.Raw(box);
  writer.Raw(sealed);
  if (ceremony == nullptr) return SealEnvelope(kCanaryKind, kCanaryVersion, writer.bytes());
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, OwnerSigner(held));
  return signer.Sign({.role = Role::kKeyOwner},
                     SealEnvelope(kCanaryKind, kSharedCanaryVersion, writer.bytes()));
}

absl::StatusOr<Canaries> Canaries::Open(ByteSpan bytes, const Model& model, const HeldKey& held,
                                        const Ceremony* ceremony, std::string_view what) {
  if (ceremony != nullptr) {
    HEFT_ASSIGN_OR_RETURN(bytes, SignedByOwner(bytes, *ceremony, what));
  }
  HEFT_ASSIGN_OR_RETURN(
      const ByteSpan payload,
      OpenEnvelope(bytes, kCanaryKind, ceremony == nullptr ? kCanaryVersion : kSharedCanaryVersion,
                   what));
  ByteReader outer(payload, what);
  const KeyId key_id = ckks::ReadId(outer);
  const ModelId model_id = ckks::ReadId(outer);
  HEFT_RETURN_IF_ERROR(outer.status());
  HEFT_RETURN_IF_ERROR(CheckKeyId(held.key_id(), key_id, what));
  if (model_id != model.Id()) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": canaries of another model"));
  }
  HEFT_ASSIGN_OR_RETURN(const auto key, KeyIn(outer, held, ceremony));
  const ByteSpan sealed = outer.Raw(outer.remaining());
  if (sealed.size() < kNonce + kTag) {
    return absl::DataLossError(absl::StrCat(std::string(what), ": truncated"));
  }
  const std::vector<uint8_t> header = HeaderOf(model, key_id);
  std::vector<uint8_t> plain(sealed.size() - kNonce - kTag);
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(
          plain.data(), nullptr, nullptr, sealed.data() + kNonce, sealed.size() - kNonce,
          header.data(), header.size(), sealed.data(), key.data()) != 0) {
    return absl::DataLossError(
        absl::StrCat(std::string(what), ": sealed under another key, or changed"));
  }
  ByteReader reader(plain, what);
  Canaries out;
  ReadTriples(reader, model, &out.triples_);
  ReadProbes(reader, out.triples_.size(), &out.probes_);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  out.Index();
  return out;
}

}  // namespace heft
