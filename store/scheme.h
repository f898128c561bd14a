// SPDX-License-Identifier: Apache-2.0
// Stores outside folders, with addresses that begin with a scheme: "postgres:prod". A program
// registers the schemes that it supports when it starts. The server's own files (its keys, its log
// of requests, a cache) are in a folder of this machine.
#ifndef HEFT_STORE_SCHEME_H_
#define HEFT_STORE_SCHEME_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/store.h"

namespace heft {

// kPostgresScheme: the only scheme.
inline constexpr std::string_view kPostgresScheme = "postgres:";

// OpenScheme: as OpenStore, for the name behind the scheme. `local`: the server's folder.
using OpenScheme = std::function<absl::StatusOr<std::shared_ptr<Store>>(
    const std::string& name, const std::string& local, StoreMode mode)>;
// RegisterScheme: enables such stores in this process.
void RegisterScheme(std::string_view scheme, OpenScheme open);

// SchemeStore: the parts of an address with a scheme, registered or not: the store
// ("postgres:prod"), its name ("prod"), the rest without the colon ("visitors", or empty), and the
// server's folder: $HEFT_STATE_DIR/stores/postgres/prod.
struct SchemeStore {
  std::string store, name, rest, local;
};
// Nothing for any other address. kInvalidArgument for a name that is not 1 to 64 letters, digits,
// '_', '-' and '.', or begins with '.'.
absl::StatusOr<std::optional<SchemeStore>> ParseSchemeStore(std::string_view address);

}  // namespace heft

#endif  // HEFT_STORE_SCHEME_H_
