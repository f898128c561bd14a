// SPDX-License-Identifier: Apache-2.0
// Gallery: enrolled, encrypted templates in a store, which is a folder (docs/gallery.md). Opening
// reads little; templates stay in the map of a file until they are matched. One process changes a
// store at a time, the others wait in turn; any number read it, and never wait; a change is seen
// whole or not at all, also after a crash or on a full disk.
//
// One object may be used by several threads as long as none calls Rekey. It shows one generation of
// the gallery, for as long as it lives: what was removed since cannot be erased before it is gone,
// so a service asks for Newest at each probe.
#ifndef HEFT_GALLERY_H_
#define HEFT_GALLERY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/model.h"
#include "heft/progress.h"
#include "heft/trust.h"

namespace heft {

// KeyId: what everything that is made for one secret key carries. ParamsId: what everything that is
// made for one set of encryption parameters carries.
using KeyId = std::array<uint8_t, 16>;
using ParamsId = std::array<uint8_t, 16>;

// ScoreKind: the question that a reply answers, 1:N or 1:1.
enum class ScoreKind : uint8_t { kIdentification = 0, kVerification = 1 };

// SetWriterWait: seconds for which who changes a gallery waits for others who do, 60 at first; then
// calls end with kUnavailable.
HEFT_EXPORT void SetWriterWait(int seconds);

class HEFT_EXPORT Gallery {
 public:
  class HEFT_HIDDEN Impl;

  // `gallery`: FOLDER, or FOLDER:NAME for one of several in a store ("main" is the first's name).
  // kNotFound if there is none, kDataLoss if it is damaged, kFailedPrecondition for a folder of
  // version 0.1, which is to be imported.
  static absl::StatusOr<Gallery> Open(const std::string& gallery);
  // The newest generation. What was found out about blocks that are the same is not found out
  // again: microseconds, where nothing has changed.
  absl::StatusOr<Gallery> Newest() const;
  // Unread: the same without a hold on its generation, for who serves for long: good for Newest and
  // for ids and sizes, not to be matched.
  Gallery Unread() const;

  Gallery(Gallery&&) noexcept;
  Gallery& operator=(Gallery&&) noexcept;
  ~Gallery();

  // Identity of each template, by position; empty where nobody stands. Several templates may share
  // one. Reads the whole roster at the first call.
  std::vector<std::string> identities() const;
  size_t size() const;          // templates
  size_t places() const;        // positions that are filled or were
  size_t blocks() const;        // that hold them
  const GalleryId& id() const;  // drawn when it was started
  uint64_t generation() const;  // counts the changes
  uint32_t gamma() const;       // dimension of a template
  const ModelId& model_id() const;
  const KeyId& key_id() const;
  const ParamsId& params_id() const;
  // Keys that templates were once under, oldest first: no longer accepted.
  const std::vector<KeyId>& revoked_keys() const;

  // kDataLoss unless everything is there and intact. Reads all.
  absl::Status CheckFiles() const;

  struct Rekeyed {
    KeyId from{}, to{};
  };
  // Moves all templates to another key, without decrypting them: all or none. The old key is
  // revoked: nothing under it is accepted again. `key` are the bytes of a re-keying key, `what`
  // its name in errors. kFailedPrecondition for another model or a key that does not start from
  // this gallery's or leads to a revoked one; kCancelled; kUnavailable where another process
  // changes the gallery or the disk refuses. Some seconds a thousand blocks; a block in memory.
  absl::StatusOr<Rekeyed> Rekey(const Model& model, std::span<const uint8_t> key,
                                std::string_view what, const Monitor& monitor = {});

 private:
  friend struct Inside;
  explicit Gallery(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heft

#endif  // HEFT_GALLERY_H_
