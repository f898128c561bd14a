// SPDX-License-Identifier: Apache-2.0
#include "postgres/libpq_values.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace heft {
namespace {

// From pg_type; they never change.
constexpr Oid kBytea = 17, kBigint = 20, kText = 25, kByteaArray = 1001, kBigintArray = 1016;
// kMaxBytes: PostgreSQL takes a gigabyte in a value, but less in a message.
constexpr size_t kMaxBytes = size_t{1000} << 20;

void AddInteger(std::vector<uint8_t>& out, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

// Array: of one dimension from 1 on, as array_recv reads it.
template <typename T, typename Append>
std::vector<uint8_t> Array(Oid type, std::span<const std::optional<T>> values, size_t room,
                           const Append& append) {
  std::vector<uint8_t> out;
  out.reserve(20 + 4 * values.size() + room);
  const bool nulls = std::ranges::any_of(values, [](const auto& v) { return !v.has_value(); });
  AddInteger(out, values.empty() ? 0 : 1, 4);
  AddInteger(out, nulls ? 1 : 0, 4);
  AddInteger(out, type, 4);
  if (values.empty()) return out;
  AddInteger(out, values.size(), 4);
  AddInteger(out, 1, 4);
  for (const auto& value : values) {
    if (value.has_value()) {
      append(out, *value);
    } else {
      AddInteger(out, 0xFFFFFFFF, 4);
    }
  }
  return out;
}

std::vector<uint8_t> ArrayOf(SqlBytesArray values) {
  size_t room = 0;
  for (const auto& value : values) room += value ? value->size() : 0;
  return Array(kBytea, values, room, [](std::vector<uint8_t>& out, ByteSpan value) {
    AddInteger(out, value.size(), 4);
    out.insert(out.end(), value.begin(), value.end());
  });
}

std::vector<uint8_t> ArrayOf(SqlIntegerArray values) {
  return Array(kBigint, values, 8 * values.size(), [](std::vector<uint8_t>& out, int64_t value) {
    AddInteger(out, 8, 4);
    AddInteger(out, static_cast<uint64_t>(value), 8);
  });
}

}  // namespace

LibpqParameters::LibpqParameters(std::span<const SqlParameter> parameters) {
  made_.reserve(parameters.size());
  for (const SqlParameter& parameter : parameters) {
    if (const auto* bytes = std::get_if<ByteSpan>(&parameter)) {
      Add(kBytea, *bytes);
    } else if (const auto* text = std::get_if<std::string_view>(&parameter)) {
      Add(kText, AsBytes(*text));
    } else if (const auto* integer = std::get_if<int64_t>(&parameter)) {
      AddInteger(made_.emplace_back(), static_cast<uint64_t>(*integer), 8);
      Add(kBigint, made_.back());
    } else if (const auto* array = std::get_if<SqlBytesArray>(&parameter)) {
      Add(kByteaArray, made_.emplace_back(ArrayOf(*array)));
    } else if (const auto* integers = std::get_if<SqlIntegerArray>(&parameter)) {
      Add(kBigintArray, made_.emplace_back(ArrayOf(*integers)));
    } else {
      Add(kBytea, {}, /*null=*/true);
    }
  }
}

void LibpqParameters::Add(Oid type, ByteSpan bytes, bool null) {
  static const char kEmpty = 0;
  types_.push_back(type);
  const auto* const at = reinterpret_cast<const char*>(bytes.data());
  values_.push_back(null ? nullptr : at == nullptr ? &kEmpty : at);
  lengths_.push_back(static_cast<int>(std::min(bytes.size(), kMaxBytes)));
  formats_.push_back(1);
  if (bytes.size() <= kMaxBytes) return;
  status_ = absl::InvalidArgumentError(absl::StrCat("PostgreSQL takes values of up to ", kMaxBytes,
                                                    " bytes, this one has ", bytes.size()));
}

absl::Status SqlStateError(std::string_view state, std::string_view message) {
  const std::string text =
      absl::StrCat("PostgreSQL: ", std::string(absl::StripTrailingAsciiWhitespace(
                                       absl::string_view(message.data(), message.size()))));
  const std::string_view kind = state.substr(0, 2);
  if (state == "25006") {
    return absl::UnavailableError(
        absl::StrCat(text,
                     ": this server is a standby or read-only: name the primary in the service "
                     "(target_session_attrs=read-write)"));
  }
  if (state == "53300" || state == "53400") {
    return absl::UnavailableError(absl::StrCat(
        text, ": end sessions that are not needed, or raise the limit (max_connections)"));
  }
  if (state == "53100") {
    return absl::UnavailableError(absl::StrCat(text, ": free space on the database's disk"));
  }
  if (kind == "08" || kind == "53" || state == "55P03" || state == "57P01" || state == "57P02" ||
      state == "57P03" || state == "57P05" || state == "25P03" || state == "58030") {
    return absl::UnavailableError(text);
  }
  if (state == "42501" || kind == "28") return absl::PermissionDeniedError(text);
  if (state == "42P01" || state == "3F000" || state == "3D000") return absl::NotFoundError(text);
  if (kind == "40") return absl::AbortedError(text);
  if (state == "57014") return absl::CancelledError(text);
  if (state == "XX001" || state == "XX002") return absl::DataLossError(text);
  return absl::InternalError(absl::StrCat(text, " (", std::string(state), ")"));
}

}  // namespace heft
