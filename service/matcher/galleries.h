// SPDX-License-Identifier: Apache-2.0
// Galleries: the galleries of the service's store, by name, and the key that signs their replies.
// Names come from requests, so a name never becomes a part of a path that leads out of the store.
#ifndef HEFT_SERVICE_MATCHER_GALLERIES_H_
#define HEFT_SERVICE_MATCHER_GALLERIES_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/gallery.h"
#include "heft/gallery_admin.h"
#include "heft/server.h"
#include "heft/trust.h"
#include "service/http/token_signer.h"

namespace heft {
struct Desk;
struct TrustedServer;
}  // namespace heft

namespace heft::service {

// IsDatabase: whether a store is "postgres:SERVICE", not a folder.
bool IsDatabase(std::string_view store);

class Galleries {
 public:
  explicit Galleries(std::string folder) : folder_(std::move(folder)) {}
  Galleries(const Galleries&) = delete;
  Galleries& operator=(const Galleries&) = delete;

  const std::string& folder() const { return folder_; }
  // Overwrites: whether the store overwrites erased bytes (heft::ErasureRemains).
  bool overwrites() const { return !IsDatabase(folder_); }
  // Address: the library's address of a gallery. kInvalidArgument unless the name is 1 to 64 of
  // [a-z0-9._-] and begins with a letter or digit.
  absl::StatusOr<std::string> Address(std::string_view name) const;
  // All names in alphabetical order; none if there is no store yet.
  absl::StatusOr<std::vector<std::string>> Names() const;
  // Create: an empty gallery, with its server's keys: one that signs, and one from which the
  // randomness of its replies is derived. kAlreadyExists.
  absl::StatusOr<GalleryId> Create(const TrustedServer& server, std::string_view name,
                                   const Retained& retained);
  // DeskOf: the desk of a server at these galleries.
  Desk DeskOf(const TrustedServer& server);
  // Newest: the newest generation; microseconds if nothing has changed. Release it after the probe:
  // while it is held, templates that are removed meanwhile cannot be erased. kNotFound.
  absl::StatusOr<Gallery> Newest(std::string_view name);
  // Signer: the store's signing key; kNotFound if it has no gallery.
  absl::StatusOr<std::shared_ptr<const SigningKey>> Signer();
  // UseToken: Signer uses this key from now on (TokenSigner's URI); empty: the store's own file.
  absl::Status UseToken(const std::string& uri);
  // SignerAnswers: kUnavailable if Signer's key could not sign now.
  absl::Status SignerAnswers();
  // PrepareReload: reads a token's PIN again. The returned function uses it and calls Forget.
  absl::StatusOr<std::function<void()>> PrepareReload();
  // Forget: drops cached keys and handles, in case the store was replaced.
  void Forget();

 private:
  const std::string folder_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Gallery>, std::less<>> known_;  // Unread
  std::shared_ptr<const SigningKey> signer_;
  std::shared_ptr<TokenSigner> token_;  // the token with the key; nullptr: a file of the store
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_GALLERIES_H_
