// SPDX-License-Identifier: Apache-2.0
// Stores that are in no folder, by addresses that begin with the name of a scheme: "postgres:prod".
// A program that is to know a scheme registers it as it starts. What belongs to the server and not
// to the galleries (its keys, its log of requests, a cache) is in a folder of this machine's.
#ifndef HEFT_GALLERY_STORE_SCHEME_H_
#define HEFT_GALLERY_STORE_SCHEME_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gallery/store.h"

namespace heft {

// kPostgresScheme: the one that there is.
inline constexpr std::string_view kPostgresScheme = "postgres:";

// OpenScheme: as OpenStore, of the name behind the scheme; `local`: the server's folder.
using OpenScheme = std::function<absl::StatusOr<std::shared_ptr<Store>>(
    const std::string& name, const std::string& local, StoreMode mode)>;
// RegisterScheme: from here on this process opens such stores.
void RegisterScheme(std::string_view scheme, OpenScheme open);

// SchemeStore: of an address that begins with a scheme, whether or not it is registered: the store
// ("postgres:prod"), its name ("prod"), what follows, without the colon ("visitors", if anything),
// and the server's folder: $HEFT_STATE_DIR/stores/postgres/prod.
struct SchemeStore {
  std::string store, name, rest, local;
};
// Nothing for any other address. kInvalidArgument for a name that is not 1 to 64 letters, digits,
// '_', '-' and '.', the first of them no '.'.
absl::StatusOr<std::optional<SchemeStore>> ParseSchemeStore(std::string_view address);

}  // namespace heft

#endif  // HEFT_GALLERY_STORE_SCHEME_H_
