// SPDX-License-Identifier: Apache-2.0
#include "heft/trust.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "c/handles.h"
#include "c/options.h"
#include "c/passphrase.h"
#include "c/result.h"
#include "heft/server.h"

heft_signing_key::heft_signing_key(heft::SigningKey k)
    : key(std::move(k)), public_key(heft::c::Hex(key.public_key())) {}

namespace heft::c {
namespace {

constexpr Role kRoles[] = {Role::kKeyOwner, Role::kServer, Role::kClient, Role::kRegistrar,
                           Role::kTrainer};

// AudienceOf: a key in an option; zeros if the text is empty.
absl::StatusOr<SignerKey> AudienceOf(const std::string& text) {
  if (text.empty()) return SignerKey{};
  return ParseSignerKey(text);
}
absl::StatusOr<GalleryId> GalleryOf(const std::string& text) {
  if (text.empty()) return GalleryId{};
  return ParseGalleryId(text);
}

absl::StatusOr<Statement> StatementOf(const heft_options* options) {
  std::string role, audience, gallery;
  uint64_t life = 0;
  Statement statement;
  OptionReader read(options);
  read.Text("role", &role).Text("audience", &audience).Text("gallery", &gallery);
  read.Integer("generation", &statement.generation).Integer("life", &life);
  HEFT_RETURN_IF_ERROR(read.Finish());
  HEFT_ASSIGN_OR_RETURN(statement.role, ParseRole(role));
  HEFT_ASSIGN_OR_RETURN(statement.audience, AudienceOf(audience));
  HEFT_ASSIGN_OR_RETURN(statement.gallery, GalleryOf(gallery));
  statement.issued = UnixTime();
  if (life > 0) statement.expires = statement.issued + life;
  return statement;
}

absl::StatusOr<Expected> ExpectedOf(const heft_options* options) {
  std::vector<std::string> roles;
  std::string audience, gallery;
  Expected expected;
  OptionReader read(options);
  read.Texts("roles", &roles).Text("kind", &expected.kind).Text("audience", &audience);
  read.Text("gallery", &gallery).Integer("min_generation", &expected.min_generation);
  HEFT_RETURN_IF_ERROR(read.Finish());
  for (const std::string& name : roles) {
    HEFT_ASSIGN_OR_RETURN(const Role role, ParseRole(name));
    expected.roles.push_back(role);
  }
  HEFT_ASSIGN_OR_RETURN(expected.audience, AudienceOf(audience));
  HEFT_ASSIGN_OR_RETURN(expected.gallery, GalleryOf(gallery));
  return expected;
}

// Zeros, which mean that it is not stated, are an empty text.
std::string HexOrEmpty(std::span<const uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](uint8_t b) { return b == 0; }) ? "" : Hex(bytes);
}

}  // namespace

Json StatementJson(const SignedFile& file) {
  const Statement& s = file.statement;
  return {{"role", RoleName(s.role)},
          {"kind", s.kind},
          {"signer", Hex(file.signer)},
          {"signer_name", file.signer_name},
          {"audience", HexOrEmpty(s.audience)},
          {"subject", HexOrEmpty(s.subject)},
          {"gallery", HexOrEmpty(s.gallery)},
          {"generation", s.generation},
          {"nonce", HexOrEmpty(s.nonce)},
          {"request", HexOrEmpty(s.request)},
          {"issued", s.issued},
          {"expires", s.expires}};
}

namespace {

// SignerOf: a C function as the library calls it.
OutsideSigner SignerOf(heft_sign sign, void* user) {
  return [sign, user](std::span<const uint8_t> message) -> absl::StatusOr<std::array<uint8_t, 64>> {
    std::array<uint8_t, 64> signature{};
    char reason[HEFT_C_REASON] = {};
    const heft_bytes bytes{message.data(), message.size()};
    if (heft::c::CallBack(sign, user, bytes, signature.data(), reason) == HEFT_OK) {
      return signature;
    }
    reason[HEFT_C_REASON - 1] = 0;
    return absl::UnavailableError(
        absl::StrCat("the function that signs failed", *reason ? ": " : "", reason));
  };
}

// Hands a trust file to the caller of a C function.
absl::Status Hand(absl::StatusOr<Trust> trust, heft_trust** out) {
  if (!trust.ok()) return trust.status();
  auto made = std::make_unique<heft_trust>();
  made->trust = *std::move(trust);
  *out = made.release();
  return absl::OkStatus();
}

absl::StatusOr<SignedFile> Open(heft_bytes bytes, const heft_trust* trust,
                                const heft_options* options, const char* what) {
  if (trust != nullptr) {
    HEFT_ASSIGN_OR_RETURN(const Expected expected, ExpectedOf(options));
    return OpenSigned(Span(bytes), trust->trust, expected, what);
  }
  if (options != nullptr) {
    return absl::InvalidArgumentError("options for checks need a trust file");
  }
  return ReadSigned(Span(bytes), what);
}

Json KeysJson(const std::vector<Trust::Key>& keys) {
  Json json = Json::array();
  for (const Trust::Key& key : keys) {
    json.push_back(Json::object({{"name", key.name}, {"key", Hex(key.key)}}));
  }
  return json;
}

Json TrustJson(const Trust& trust) {
  Json keys = Json::object(), galleries = Json::array();
  for (const Role role : kRoles) keys[RoleName(role)] = KeysJson(trust.keys(role));
  for (const Trust::PinnedGallery& pinned : trust.galleries()) {
    galleries.push_back(
        Json::object({{"gallery_id", Hex(pinned.id)}, {"generation", pinned.generation}}));
  }
  return {{"keys", std::move(keys)},
          {"revoked", KeysJson(trust.revoked())},
          {"galleries", std::move(galleries)}};
}

}  // namespace
}  // namespace heft::c

using heft::c::Call;
using heft::c::Given;

heft_status heft_signing_key_generate(heft_signing_key** key, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(key, "key"));
    HEFT_ASSIGN_OR_RETURN(heft::SigningKey made, heft::SigningKey::Generate());
    *key = new heft_signing_key(std::move(made));
    return absl::OkStatus();
  });
}

heft_status heft_signing_key_load(const char* path, heft_bytes passphrase, heft_signing_key** key,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(path, "path", key, "key"));
    HEFT_ASSIGN_OR_RETURN(const auto asked, heft::c::AsSource(passphrase));
    HEFT_ASSIGN_OR_RETURN(heft::SigningKey loaded, heft::SigningKey::Load(path, asked));
    *key = new heft_signing_key(std::move(loaded));
    return absl::OkStatus();
  });
}

heft_status heft_signing_key_outside(const char* public_key, heft_sign sign, void* user,
                                     heft_signing_key** key, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(public_key, "public_key", sign, "sign", key, "key"));
    HEFT_ASSIGN_OR_RETURN(const heft::SignerKey half, heft::ParseSignerKey(public_key));
    HEFT_ASSIGN_OR_RETURN(heft::SigningKey made,
                          heft::OutsideSigningKey(half, heft::c::SignerOf(sign, user)));
    *key = new heft_signing_key(std::move(made));
    return absl::OkStatus();
  });
}

heft_status heft_use_gallery_signer(const char* folder, const char* public_key, heft_sign sign,
                                    void* user, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(folder, "folder", public_key, "public_key", sign, "sign"));
    HEFT_ASSIGN_OR_RETURN(const heft::SignerKey half, heft::ParseSignerKey(public_key));
    heft::UseGallerySigner(folder, half, heft::c::SignerOf(sign, user));
    return absl::OkStatus();
  });
}

void heft_signing_key_free(heft_signing_key* key) { heft::c::Free(key); }

heft_status heft_signing_key_save(const heft_signing_key* key, const char* path,
                                  heft_bytes passphrase, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(key, "key", path, "path"));
    HEFT_ASSIGN_OR_RETURN(const auto asked, heft::c::AsSource(passphrase));
    return key->key.Save(path, asked);
  });
}

const char* heft_signing_key_public(const heft_signing_key* key) {
  if (key == nullptr || key->tag != heft_signing_key::kTag) return nullptr;
  return key->public_key.c_str();
}

heft_status heft_signing_key_sign(const heft_signing_key* key, heft_bytes file,
                                  const heft_options* options, heft_buffer** signed_file,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(key, "key", file, "file", signed_file, "signed_file"));
    HEFT_ASSIGN_OR_RETURN(const heft::Statement statement, heft::c::StatementOf(options));
    HEFT_ASSIGN_OR_RETURN(auto bytes, key->key.Sign(statement, heft::c::Span(file)));
    *signed_file = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_authorise(const heft_signing_key* registrar, const char* gallery_id,
                           const char* act, const char* identity, uint64_t life,
                           heft_buffer** authorisation, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(registrar, "registrar", gallery_id, "gallery_id", act, "act",
                               identity, "identity", authorisation, "authorisation"));
    HEFT_ASSIGN_OR_RETURN(const heft::GalleryId gallery, heft::ParseGalleryId(gallery_id));
    HEFT_ASSIGN_OR_RETURN(const heft::AuthorisedAct allowed, heft::ParseAuthorisedAct(act));
    HEFT_ASSIGN_OR_RETURN(auto bytes,
                          heft::Authorise(registrar->key, gallery, allowed, identity, life));
    *authorisation = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_check_authorised(heft_bytes authorisation, const heft_trust* trust,
                                  const char* act, const char* gallery_id, const char* identity,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(authorisation, "authorisation", trust, "trust", act, "act",
                               gallery_id, "gallery_id", identity, "identity"));
    HEFT_ASSIGN_OR_RETURN(const heft::AuthorisedAct allowed, heft::ParseAuthorisedAct(act));
    HEFT_ASSIGN_OR_RETURN(const heft::GalleryId gallery, heft::ParseGalleryId(gallery_id));
    return heft::CheckAuthorised(heft::c::Span(authorisation), trust->trust, allowed, gallery,
                                 identity);
  });
}

heft_status heft_trust_new(heft_trust** trust, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(trust, "trust"));
    *trust = new heft_trust;
    return absl::OkStatus();
  });
}

heft_status heft_trust_load(const char* path, heft_trust** trust, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(path, "path", trust, "trust"));
    return heft::c::Hand(heft::Trust::Load(path), trust);
  });
}

heft_status heft_trust_load_guarded(const char* path, heft_trust** trust, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(path, "path", trust, "trust"));
    return heft::c::Hand(heft::Trust::LoadGuarded(path), trust);
  });
}

heft_status heft_trust_parse(heft_bytes text, const char* what, heft_trust** trust,
                             heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(text, "text", what, "what", trust, "trust"));
    const std::string_view view(static_cast<const char*>(text.data), text.size);
    return heft::c::Hand(heft::Trust::Parse(view, what), trust);
  });
}

heft_status heft_trust_text(const heft_trust* trust, heft_buffer** text, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(trust, "trust", text, "text"));
    const std::string all = trust->trust.Serialize();
    *text = new heft_buffer(std::vector<uint8_t>(all.begin(), all.end()));
    return absl::OkStatus();
  });
}

void heft_trust_free(heft_trust* trust) { heft::c::Free(trust); }

heft_status heft_trust_save(const heft_trust* trust, const char* path, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(trust, "trust", path, "path"));
    return trust->trust.Save(path);
  });
}

heft_status heft_trust_add(heft_trust* trust, const char* role, const char* name,
                           const char* public_key, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(trust, "trust", role, "role", name, "name", public_key, "public_key"));
    HEFT_ASSIGN_OR_RETURN(const heft::Role as, heft::ParseRole(role));
    HEFT_ASSIGN_OR_RETURN(const heft::SignerKey key, heft::ParseSignerKey(public_key));
    return trust->trust.Add(as, name, key);
  });
}

heft_status heft_trust_revoke(heft_trust* trust, const char* public_key, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(trust, "trust", public_key, "public_key"));
    HEFT_ASSIGN_OR_RETURN(const heft::SignerKey key, heft::ParseSignerKey(public_key));
    return trust->trust.Revoke(key);
  });
}

heft_status heft_trust_pin(heft_trust* trust, const char* gallery_id, uint64_t generation,
                           heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(trust, "trust", gallery_id, "gallery_id"));
    HEFT_ASSIGN_OR_RETURN(const heft::GalleryId id, heft::ParseGalleryId(gallery_id));
    trust->trust.Pin(id, generation);
    return absl::OkStatus();
  });
}

heft_status heft_trust_describe(const heft_trust* trust, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(trust, "trust", result, "result"));
    *result = new heft_result(heft::c::TrustJson(trust->trust));
    return absl::OkStatus();
  });
}

heft_status heft_open_signed(heft_bytes bytes, const heft_trust* trust, const heft_options* options,
                             const char* what, heft_buffer** file, heft_result** statement,
                             heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(bytes, "bytes", what, "what", file, "file"));
    HEFT_RETURN_IF_ERROR(heft::c::Allowed(trust, "trust"));
    HEFT_ASSIGN_OR_RETURN(const heft::SignedFile opened,
                          heft::c::Open(bytes, trust, options, what));
    const auto inner = opened.file;
    auto buffer = std::make_unique<heft_buffer>(std::vector<uint8_t>(inner.begin(), inner.end()));
    if (statement != nullptr) *statement = new heft_result(heft::c::StatementJson(opened));
    *file = buffer.release();
    return absl::OkStatus();
  });
}

int heft_is_signed(heft_bytes bytes) {
  return heft::c::GivenBytes("bytes", bytes).ok() && heft::IsSigned(heft::c::Span(bytes)) ? 1 : 0;
}
