// SPDX-License-Identifier: Apache-2.0
#include "store/scheme.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/state_folder.h"
#include "store/folder.h"

namespace heft {
namespace {

constexpr size_t kLongestStoreName = 64;

struct Schemes {
  std::mutex mutex;
  std::map<std::string, OpenScheme, std::less<>> open;
  static Schemes& All() {
    static auto* const all = new Schemes;
    return *all;
  }
};

bool IsStoreName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestStoreName && name.front() != '.' &&
         std::ranges::all_of(name, [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
         });
}

absl::StatusOr<std::shared_ptr<Store>> OpenBy(const SchemeStore& at, StoreMode mode) {
  OpenScheme open;
  {
    Schemes& all = Schemes::All();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (const auto it = all.open.find(kPostgresScheme); it != all.open.end()) open = it->second;
  }
  if (open != nullptr) return open(at.name, at.local, mode);
  return absl::UnimplementedError(absl::StrCat(
      at.store,
      ": this program supports only galleries in folders; use heft-server or heft-matcher"));
}

}  // namespace

void RegisterScheme(std::string_view scheme, OpenScheme open) {
  Schemes& all = Schemes::All();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.open[std::string(scheme)] = std::move(open);
}

absl::StatusOr<std::optional<SchemeStore>> ParseSchemeStore(std::string_view address) {
  if (!address.starts_with(kPostgresScheme)) return std::nullopt;
  const std::string_view all = address.substr(kPostgresScheme.size());
  const size_t colon = all.find(':');
  SchemeStore at;
  at.name = all.substr(0, colon);
  if (colon != all.npos) at.rest = all.substr(colon + 1);
  if (!IsStoreName(at.name) || (colon != all.npos && at.rest.empty())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", std::string(address),
        "\": give postgres:SERVICE or postgres:SERVICE:NAME, where SERVICE of pg_service.conf is 1 "
        "to 64 letters, digits, '_', '-' and '.'; for a folder give ./postgres"));
  }
  at.store = absl::StrCat(std::string(kPostgresScheme), at.name);
  at.local = absl::StrCat(StateFolder(), "/stores/postgres/", at.name);
  return at;
}

bool StoreExists(const std::string& folder) {
  const auto at = ParseSchemeStore(folder);
  if (!at.ok()) return false;
  if (!at->has_value()) return FolderStoreExists(folder);
  return !absl::IsNotFound(OpenBy(**at, StoreMode::kRead).status());
}

absl::StatusOr<std::shared_ptr<Store>> OpenStore(const std::string& folder, StoreMode mode) {
  HEFT_ASSIGN_OR_RETURN(const auto at, ParseSchemeStore(folder));
  if (at && at->rest.empty()) return OpenBy(*at, mode);
  if (at) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, " is a gallery: give the store, ", at->store));
  }
  return OpenFolderStore(folder, mode);
}

}  // namespace heft
