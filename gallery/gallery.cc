// SPDX-License-Identifier: Apache-2.0
#include "heft/gallery.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/progress.h"
#include "ckks/serialization.h"
#include "fusion/key_files.h"
#include "gallery/gallery_impl.h"

namespace heft {

void WriteBinding(ByteWriter& writer, const GalleryBinding& binding) {
  ckks::WriteId(writer, binding.params_id);
  ckks::WriteId(writer, binding.key_id);
  ckks::WriteId(writer, binding.model_id);
  writer.U32(binding.gamma);
}

GalleryBinding ReadBinding(ByteReader& reader) {
  GalleryBinding binding;
  binding.params_id = ckks::ReadId(reader);
  binding.key_id = ckks::ReadId(reader);
  binding.model_id = ckks::ReadId(reader);
  binding.gamma = reader.U32();
  return binding;
}

GalleryBinding BindingOf(const Instance& instance, const Model& model, const KeyId& key_id) {
  return {instance.params().id(), key_id, model.Id(), model.gamma};
}

absl::Status Gallery::Impl::CheckBinding(const GalleryBinding& binding) const {
  const std::string what = absl::StrCat("gallery ", directory_);
  if (binding.params_id != binding_.params_id) {
    return absl::FailedPreconditionError(absl::StrCat(what, ": made with other parameters"));
  }
  if (binding.model_id != binding_.model_id || binding.gamma != binding_.gamma) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": made with another model (id ", HexString(binding_.model_id),
                     ", this model is ", HexString(binding.model_id), ")"));
  }
  if (std::ranges::count(revoked_, binding.key_id) > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": key ", HexString(binding.key_id),
                     " was revoked when the gallery was re-keyed: use the keys of ",
                     HexString(binding_.key_id)));
  }
  return CheckKeyId(binding.key_id, binding_.key_id, what);
}

absl::Status Gallery::Impl::CheckBlockCount(const Instance& instance) const {
  const size_t per_block = 2 * size_t{instance.params().slots()};
  if (blocks() == (size() + per_block - 1) / per_block) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("gallery ", directory_, ": the manifest has ", size(),
                                          " templates in ", blocks(), " blocks of ", per_block));
}

absl::Status Gallery::Impl::CheckFits(const Instance& instance,
                                      const GalleryBinding& binding) const {
  HEFT_RETURN_IF_ERROR(CheckBinding(binding));
  return CheckBlockCount(instance);
}

Gallery::Gallery(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Gallery::Gallery(Gallery&&) noexcept = default;
Gallery& Gallery::operator=(Gallery&&) noexcept = default;
Gallery::~Gallery() = default;

absl::StatusOr<Gallery> Gallery::Open(const std::string& folder) {
  HEFT_ASSIGN_OR_RETURN(Impl impl, Impl::Open(folder));
  return Gallery(std::make_unique<Impl>(std::move(impl)));
}

const std::vector<std::string>& Gallery::identities() const { return impl_->identities(); }
size_t Gallery::size() const { return impl_->size(); }
size_t Gallery::blocks() const { return impl_->blocks(); }
const GalleryId& Gallery::id() const { return impl_->id(); }
uint64_t Gallery::generation() const { return impl_->generation(); }
uint32_t Gallery::gamma() const { return impl_->binding().gamma; }
const ModelId& Gallery::model_id() const { return impl_->binding().model_id; }
const KeyId& Gallery::key_id() const { return impl_->binding().key_id; }
const ParamsId& Gallery::params_id() const { return impl_->binding().params_id; }
const std::vector<KeyId>& Gallery::revoked_keys() const { return impl_->revoked_keys(); }
absl::Status Gallery::CheckFiles() const { return impl_->CheckBlockFiles(); }

absl::StatusOr<Gallery::Rekeyed> Gallery::Rekey(const Model& model, std::span<const uint8_t> key,
                                                std::string_view what, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, MakeRings(model));
  const Instance& instance = rings.matching;
  HEFT_ASSIGN_OR_RETURN(const RekeyingKey parsed, ParseRekeyingKey(*instance.context, key, what));
  GalleryBinding expected = BindingOf(instance, model, key_id());
  HEFT_RETURN_IF_ERROR(impl_->CheckFits(instance, expected));
  const Progress progress(monitor, "re-keying blocks");
  HEFT_RETURN_IF_ERROR(impl_->Rekey(instance, parsed, progress.Callback()));
  return Rekeyed{parsed.from, parsed.to};
}

}  // namespace heft
