// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gallery/gallery_impl.h"
#include "store/scheme.h"

namespace heft {
namespace {

constexpr size_t kLongestName = 64;

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
}

absl::Status NoName(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "invalid gallery name \"", name,
      "\": give FOLDER or FOLDER:NAME, where NAME is 1 to 64 of a-z, 0-9, '.', '_' and '-'"));
}

}  // namespace

absl::StatusOr<Address> ParseAddress(const std::string& text) {
  HEFT_ASSIGN_OR_RETURN(const auto scheme, ParseSchemeStore(text));
  if (scheme) {
    Address address = {scheme->local, std::string(kDefaultName), scheme->store};
    if (!scheme->rest.empty()) address.name = scheme->rest;
    if (IsName(address.name)) return address;
    return NoName(address.name);
  }
  std::error_code ignored;
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || std::filesystem::is_directory(text, ignored)) {
    return Address{text, std::string(kDefaultName)};
  }
  Address address = {text.substr(0, colon), text.substr(colon + 1)};
  if (address.folder.empty() || !IsName(address.name)) {
    return NoName(address.name);
  }
  return address;
}

std::string FolderOf(const std::string& address) {
  const auto parsed = ParseAddress(address);
  return parsed.ok() ? parsed->folder : address;
}

std::string StoreOf(const std::string& address) {
  const auto parsed = ParseAddress(address);
  return parsed.ok() ? parsed->at() : address;
}

}  // namespace heft
