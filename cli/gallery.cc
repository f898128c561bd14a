// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/gallery_commands.h"

namespace heft::cli {

absl::StatusOr<std::optional<Model>> LoadModelIfGiven(const std::string& path) {
  std::optional<Model> model;
  if (path.empty()) return model;
  HEFT_ASSIGN_OR_RETURN(model, LoadModel(path));
  return model;
}

void Remember(const Common& common, const std::string& gallery) {
  const absl::Status done = RememberGeneration(gallery);
  if (done.ok()) return;
  Warn(common, absl::StrCat("the gallery's generation could not be recorded, so a later restore "
                            "cannot detect an older copy: ",
                            done.message()));
}

void AddGallery(Command app) {
  const Command group =
      app.Group("gallery", "galleries: contents, removal, checks, copies (server)");
  AddGalleryCreate(group);
  AddGalleryStats(group);
  AddGalleryList(group);
  AddGalleryRemove(group);
  AddGalleryRenew(group);
  AddGalleryCompact(group);
  AddGallerySnapshot(group);
  AddGalleryRestore(group);
  AddGalleryCopy(group);
}

}  // namespace heft::cli
