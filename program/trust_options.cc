// SPDX-License-Identifier: Apache-2.0
#include "program/trust_options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "heft/desk.h"
#include "heft/inspect.h"

namespace heft::cli {
namespace {

constexpr double kLongestLife = 10.0 * 366 * 24 * 3600;

}  // namespace

void AddTrustOptions(Command command, TrustOptions* options, const std::string& beside) {
  const Option file = command.Add(
      "--trust", &options->file,
      absl::StrCat("file of trusted keys (heft trust); default: trust.heft beside ", beside));
  command
      .Add("--unchecked", &options->unchecked,
           "do not check signatures: for experiments, and for keys made by other programs")
      .Excludes(file);
}

absl::StatusOr<std::optional<Trust>> LoadTrust(const TrustOptions& options,
                                               const std::string& path) {
  if (options.unchecked) return std::nullopt;
  const bool given = !options.file.empty();
  auto trust = Trust::LoadGuarded(
      given ? options.file : path.substr(0, path.find_last_of('/') + 1) + "trust.heft");
  if (given || !absl::IsNotFound(trust.status())) return trust;
  return absl::FailedPreconditionError(
      absl::StrCat(path,
                   ": no trust file found to check its signature: put the key owner's trust.heft "
                   "beside it, or give --trust (--unchecked for an experiment)"));
}

absl::StatusOr<std::optional<Trust>> LoadTrustFor(const TrustOptions& options,
                                                  const std::string& path,
                                                  std::span<const uint8_t> bytes) {
  auto trust = LoadTrust(options, path);
  // With a trust file, the caller checks the bytes anyway.
  if (!trust.ok()) HEFT_RETURN_IF_ERROR(InspectFile(bytes, path).status());
  return trust;
}

absl::StatusOr<Model> LoadTrustedModel(const std::string& path, const std::optional<Trust>& trust) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, kMaxModelSize));
  return ReadTrustedModel(trust ? &*trust : nullptr, bytes, path);
}

absl::StatusOr<KeyAndModel> LoadKeyAndModel(const TrustOptions& options, const std::string& key,
                                            const std::string& kind, const std::string& model) {
  KeyAndModel out;
  HEFT_ASSIGN_OR_RETURN(out.key, ReadFile(key, kMaxKeysSize));
  HEFT_ASSIGN_OR_RETURN(const auto trust, LoadTrustFor(options, key, out.key));
  HEFT_ASSIGN_OR_RETURN(out.model, LoadTrustedModel(model, trust));
  if (!trust) return out;
  const Expected expected = {.roles = {Role::kKeyOwner}, .kind = kind};
  HEFT_RETURN_IF_ERROR(OpenSigned(out.key, *trust, expected, key).status());
  return out;
}

void AddLife(Command command, uint64_t* life) {
  command.Add("--valid-for", life, "validity of the signature in seconds; 0: unlimited")
      .Range(0, kLongestLife)
      .ShowDefault();
}

absl::StatusOr<SignerKey> ReadSignerKey(const std::string& given) {
  const auto digits = ParseSignerKey(given);
  if (digits.ok()) return digits;
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(given, 1 << 12));
  auto key = ParseSignerKey(std::string(bytes.begin(), bytes.end()));
  if (key.ok()) return key;
  return absl::InvalidArgumentError(absl::StrCat(given, ": ", std::string(key.status().message())));
}

absl::StatusOr<Statement> StatementOf(const std::string& role, const std::string& to,
                                      uint64_t life) {
  Statement statement;
  HEFT_ASSIGN_OR_RETURN(statement.role, ParseRole(role));
  if (!to.empty()) {
    HEFT_ASSIGN_OR_RETURN(statement.audience, ReadSignerKey(to));
  }
  statement.issued = UnixTime();
  if (life > 0) statement.expires = statement.issued + life;
  return statement;
}

absl::StatusOr<SigningKey> LoadSigner(const std::string& path) {
  return SigningKey::Load(path, [] { return ReadPassphrase("", /*confirm=*/false); });
}

}  // namespace heft::cli
