// SPDX-License-Identifier: Apache-2.0
#include "gallery/authorisation.h"

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/identity.h"
#include "ckks/serialization.h"
#include "heft/server.h"

namespace heft {
namespace {
constexpr uint32_t kAuthorisationVersion = 1;
}  // namespace

absl::StatusOr<AuthorisedAct> ParseAuthorisedAct(std::string_view name) {
  if (name == "add") return AuthorisedAct::kAdd;
  if (name == "replace") return AuthorisedAct::kReplace;
  if (name == "remove") return AuthorisedAct::kRemove;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown act \"", std::string(name), "\": give add, replace or remove"));
}

absl::StatusOr<std::vector<uint8_t>> SerializeAuthorisation(const GalleryId& gallery,
                                                            AuthorisedAct act,
                                                            const std::string& given) {
  HEFT_ASSIGN_OR_RETURN(const std::string identity, NormalIdentity(given));
  ByteWriter writer;
  ckks::WriteId(writer, gallery);
  writer.U8(static_cast<uint8_t>(act));
  writer.String(identity);
  return SealEnvelope(kAuthorisationKind, kAuthorisationVersion, writer.bytes());
}

absl::Status CheckAuthorisation(ByteSpan bytes, const Trust& trust, AuthorisedAct act,
                                const GalleryId& gallery, const std::string& given,
                                std::string_view what) {
  Expected expected;
  expected.roles = {Role::kRegistrar};
  expected.kind = kAuthorisationKind;
  expected.gallery = gallery;
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, OpenSigned(bytes, trust, expected, what));
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(file.file, kAuthorisationKind, kAuthorisationVersion, what));
  ByteReader reader(payload, what);
  const GalleryId of = ckks::ReadId(reader);
  const uint8_t allowed = reader.U8();
  const std::string whom = reader.String(256);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  HEFT_ASSIGN_OR_RETURN(const std::string identity, NormalIdentity(given));
  if (of == gallery && allowed == static_cast<uint8_t>(act) && whom == identity) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      std::string(what), ": is for another act, identity or gallery than this one of \"", identity,
      "\""));
}

absl::StatusOr<AuthorisedAct> CheckMayEnrol(ByteSpan bytes, const Trust& trust,
                                            const GalleryId& gallery, const std::string& identity,
                                            std::string_view what) {
  const absl::Status add =
      CheckAuthorisation(bytes, trust, AuthorisedAct::kAdd, gallery, identity, what);
  if (add.ok()) return AuthorisedAct::kAdd;
  const absl::Status replace =
      CheckAuthorisation(bytes, trust, AuthorisedAct::kReplace, gallery, identity, what);
  if (replace.ok()) return AuthorisedAct::kReplace;
  return add;
}

absl::Status CheckAuthorised(std::span<const uint8_t> authorisation, const Trust& trust,
                             AuthorisedAct act, const GalleryId& gallery,
                             const std::string& identity) {
  return CheckAuthorisation(authorisation, trust, act, gallery, identity, "the authorisation");
}

absl::StatusOr<std::vector<uint8_t>> Authorise(const SigningKey& registrar,
                                               const GalleryId& gallery, AuthorisedAct act,
                                               const std::string& identity, uint64_t life) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> file,
                        SerializeAuthorisation(gallery, act, identity));
  Statement statement;
  statement.role = Role::kRegistrar;
  statement.gallery = gallery;
  statement.expires = life == 0 ? 0 : UnixTime() + life;
  return registrar.Sign(statement, file);
}

}  // namespace heft
