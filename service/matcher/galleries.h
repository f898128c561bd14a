// SPDX-License-Identifier: Apache-2.0
// Galleries: those of the service's store, by name, and the key that signs what they answer. Names
// come from requests: none of them ever becomes a part of a path that it could leave the store by.
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

namespace heft::service {

// IsDatabase: whether a store is no folder, but "postgres:SERVICE".
bool IsDatabase(std::string_view store);

class Galleries {
 public:
  explicit Galleries(std::string folder) : folder_(std::move(folder)) {}
  Galleries(const Galleries&) = delete;
  Galleries& operator=(const Galleries&) = delete;

  const std::string& folder() const { return folder_; }
  // Overwrites: whether nothing is left of what the store has erased (heft::ErasureRemains).
  bool overwrites() const { return !IsDatabase(folder_); }
  // Address: for the library. kInvalidArgument for what is not 1 to 64 of [a-z0-9._-] that begin
  // with a letter or digit.
  absl::StatusOr<std::string> Address(std::string_view name) const;
  // All of them, in the order of the alphabet; none where there is no store yet.
  absl::StatusOr<std::vector<std::string>> Names() const;
  // Create: an empty one, and what its server needs: a key that signs, and one that its replies'
  // randomness follows from. kAlreadyExists.
  absl::StatusOr<GalleryId> Create(const Server& server, std::string_view name,
                                   const Retained& retained);
  // Newest: its newest generation, microseconds where nothing has changed. Hold it no longer than a
  // probe takes: as long as somebody does, what was removed meanwhile cannot be erased. kNotFound.
  absl::StatusOr<Gallery> Newest(std::string_view name);
  // Signer: of the store; kNotFound where it has no gallery.
  absl::StatusOr<std::shared_ptr<const SigningKey>> Signer();
  // UseToken: what Signer signs with from now on (TokenSigner's URI); empty: the store's own file.
  absl::Status UseToken(const std::string& uri);
  // SignerAnswers: whether what Signer signs with does so now. kUnavailable.
  absl::Status SignerAnswers();
  // PrepareReload: reads a token's PIN again; what it returns makes that hold, and is Forget.
  absl::StatusOr<std::function<void()>> PrepareReload();
  // Forget: keys and handles, for what has replaced the store meanwhile.
  void Forget();

 private:
  const std::string folder_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Gallery>, std::less<>> known_;  // Unread
  std::shared_ptr<const SigningKey> signer_;
  std::shared_ptr<TokenSigner> token_;  // what it is in; nullptr: a file of the store
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_GALLERIES_H_
