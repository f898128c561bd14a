// SPDX-License-Identifier: Apache-2.0
#include "heft/gallery.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/progress.h"
#include "fusion/key_files.h"
#include "gallery/gallery_impl.h"

namespace heft {

GalleryBinding BindingOf(const Instance& instance, const Model& model, const KeyId& key_id) {
  return {instance.params().id(), key_id, model.Id(), model.gamma};
}

absl::Status Gallery::Impl::CheckBinding(const GalleryBinding& binding) const {
  const std::string what = What();
  const GalleryBinding& own = head_.binding;
  if (binding.params_id != own.params_id) {
    return absl::FailedPreconditionError(absl::StrCat(what, ": made with other parameters"));
  }
  if (binding.model_id != own.model_id || binding.gamma != own.gamma) {
    return absl::FailedPreconditionError(absl::StrCat(what, ": made with another model (id ",
                                                      HexString(own.model_id), ", this model is ",
                                                      HexString(binding.model_id), ")"));
  }
  if (std::ranges::count(head_.revoked, binding.key_id) > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        what, ": key ", HexString(binding.key_id),
        " was revoked when the gallery was re-keyed: use the keys of ", HexString(own.key_id)));
  }
  return CheckKeyId(binding.key_id, own.key_id, what);
}

Gallery::Gallery(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Gallery::Gallery(Gallery&&) noexcept = default;
Gallery& Gallery::operator=(Gallery&&) noexcept = default;
Gallery::~Gallery() = default;

absl::StatusOr<Gallery> Gallery::Open(const std::string& folder) {
  HEFT_ASSIGN_OR_RETURN(Impl impl, Impl::Open(folder));
  return Gallery(std::make_unique<Impl>(std::move(impl)));
}

std::vector<std::string> Gallery::identities() const { return impl_->identities(); }
size_t Gallery::size() const { return impl_->size(); }
size_t Gallery::places() const { return impl_->places(); }
size_t Gallery::blocks() const { return impl_->blocks(); }
const GalleryId& Gallery::id() const { return impl_->id(); }
uint64_t Gallery::generation() const { return impl_->generation(); }
uint32_t Gallery::gamma() const { return impl_->binding().gamma; }
const ModelId& Gallery::model_id() const { return impl_->binding().model_id; }
const KeyId& Gallery::key_id() const { return impl_->binding().key_id; }
const ParamsId& Gallery::params_id() const { return impl_->binding().params_id; }
const std::vector<KeyId>& Gallery::revoked_keys() const { return impl_->revoked_keys(); }
absl::Status Gallery::CheckFiles() const { return impl_->CheckIntact(); }

absl::StatusOr<Gallery> Gallery::Newest() const {
  HEFT_ASSIGN_OR_RETURN(Impl impl, impl_->Newest());
  return Gallery(std::make_unique<Impl>(std::move(impl)));
}

Gallery Gallery::Unread() const { return Gallery(std::make_unique<Impl>(impl_->Unread())); }

absl::StatusOr<Gallery::Rekeyed> Gallery::Rekey(const Model& model, std::span<const uint8_t> key,
                                                std::string_view what, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, MakeRings(model));
  const Instance& instance = rings.matching;
  HEFT_ASSIGN_OR_RETURN(const RekeyingKey parsed, ParseRekeyingKey(*instance.context, key, what));
  GalleryBinding expected = BindingOf(instance, model, key_id());
  HEFT_RETURN_IF_ERROR(impl_->CheckFits(instance, expected));
  const Progress progress(monitor, "re-keying blocks");
  absl::Status moved = RekeyGallery(impl_.get(), instance, parsed, progress.Callback());
  // After the move only the erasure can fail.
  const bool at_end = key_id() == parsed.to && !absl::IsFailedPrecondition(moved);
  if (!moved.ok() && !at_end) return moved;
  return Rekeyed{parsed.from, parsed.to, std::move(moved)};
}

}  // namespace heft
