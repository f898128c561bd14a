// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/galleries.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "heft/desk.h"
#include "heft/trust.h"

namespace heft::service {
namespace {

constexpr size_t kLongestName = 64;

bool MayBegin(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool MayFollow(char c) { return MayBegin(c) || c == '.' || c == '_' || c == '-'; }

}  // namespace

bool IsDatabase(std::string_view store) { return store.starts_with("postgres:"); }

absl::StatusOr<std::string> Galleries::Address(std::string_view name) const {
  if (name.empty() || name.size() > kLongestName || !MayBegin(name[0]) ||
      !std::ranges::all_of(name, MayFollow)) {
    return absl::InvalidArgumentError(
        "not a valid gallery name: give 1 to 64 of a to z, 0 to 9, '.', '_' and '-', starting with "
        "a letter or digit");
  }
  return absl::StrCat(folder_, ":", std::string(name));
}

absl::StatusOr<std::vector<std::string>> Galleries::Names() const {
  auto names = GalleryNames(folder_);
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  return names;
}

absl::StatusOr<GalleryId> Galleries::Create(const TrustedServer& server, std::string_view name,
                                            const Retained& retained) {
  HEFT_ASSIGN_OR_RETURN(const std::string address, Address(name));
  return Desk(server).Create(address, retained);
}

Desk Galleries::DeskOf(const TrustedServer& server) {
  Desk desk(server);
  desk.open = [this](const std::string& address) {
    return Newest(std::string_view(address).substr(folder_.size() + 1));
  };
  desk.signer = [this](const std::string&) { return Signer(); };
  return desk;
}

absl::StatusOr<Gallery> Galleries::Newest(std::string_view name) {
  HEFT_ASSIGN_OR_RETURN(const std::string address, Address(name));
  std::shared_ptr<const Gallery> known;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(name); found != known_.end()) known = found->second;
  }
  auto newest = known != nullptr ? known->Newest() : Gallery::Open(address);
  if (absl::IsNotFound(newest.status())) {
    return absl::NotFoundError(absl::StrCat("there is no gallery ", std::string(name)));
  }
  if (!newest.ok() || known != nullptr) return newest;
  // Keep the first one: its cache of blocks serves all later ones.
  const std::lock_guard lock(mutex_);
  const auto [kept, is_first] = known_.emplace(name, nullptr);
  if (is_first) kept->second = std::make_shared<const Gallery>(newest->Unread());
  return newest;
}

absl::StatusOr<std::shared_ptr<const SigningKey>> Galleries::Signer() {
  const std::lock_guard lock(mutex_);
  if (signer_ != nullptr) return signer_;
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names());
  if (names.empty())
    return absl::NotFoundError("there is no gallery yet: an operator must make one");
  HEFT_ASSIGN_OR_RETURN(const std::string address, Address(names.front()));
  HEFT_ASSIGN_OR_RETURN(SigningKey key, GallerySigner(address));
  signer_ = std::make_shared<const SigningKey>(std::move(key));
  return signer_;
}

absl::Status Galleries::UseToken(const std::string& uri) {
  if (uri.empty()) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const std::shared_ptr<TokenSigner> token, TokenSigner::Open(uri));
  UseGallerySigner(folder_, token->public_key(),
                   [token](std::span<const uint8_t> message) { return token->Sign(message); });
  const std::lock_guard lock(mutex_);
  signer_ = nullptr;
  token_ = token;
  return absl::OkStatus();
}

absl::Status Galleries::SignerAnswers() {
  HEFT_RETURN_IF_ERROR(Signer().status());
  std::shared_ptr<TokenSigner> token;
  {
    const std::lock_guard lock(mutex_);
    token = token_;
  }
  return token == nullptr ? absl::OkStatus() : token->Answers();
}

absl::StatusOr<std::function<void()>> Galleries::PrepareReload() {
  std::shared_ptr<TokenSigner> token;
  {
    const std::lock_guard lock(mutex_);
    token = token_;
  }
  std::function<void()> again = [] {};
  if (token != nullptr) {
    HEFT_ASSIGN_OR_RETURN(again, token->PrepareReload());
  }
  return [this, again = std::move(again)] {
    again();
    Forget();
  };
}

void Galleries::Forget() {
  const std::lock_guard lock(mutex_);
  known_.clear();
  signer_ = nullptr;
}

}  // namespace heft::service
