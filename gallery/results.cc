// SPDX-License-Identifier: Apache-2.0
#include "heft/results.h"

#include "base/bytes.h"

namespace heft {

Json WhereJson(std::span<const Condition> where) {
  Json json = Json::array();
  for (const Condition& condition : where) json.push_back(ConditionText(condition));
  return json;
}

Json CopiedJson(const CopiedGallery& copied) {
  return {{"name", copied.name},
          {"gallery_id", HexString(copied.id)},
          {"generation", copied.generation}};
}

Json CopiesJson(std::span<const CopiedGallery> copies) {
  Json json = Json::array();
  for (const CopiedGallery& copy : copies) json.push_back(CopiedJson(copy));
  return json;
}

Json GalleryJson(const GalleryInfo& info) {
  Json revoked = Json::array();
  for (const KeyId& key : info.revoked) revoked.push_back(HexString(key));
  return {{"name", info.name},
          {"gallery_id", HexString(info.id)},
          {"model_id", HexString(info.model)},
          {"key_id", HexString(info.key)},
          {"gamma", info.gamma},
          {"generation", info.generation},
          {"root", HexString(info.root)},
          {"templates", info.live},
          {"leaving", info.leaving},
          {"waiting", info.waiting},
          {"places", info.places},
          {"blocks", info.blocks},
          {"started", info.started},
          {"retention_seconds", info.retained.seconds},
          {"retention_bytes", info.retained.bytes},
          {"revoked_keys", std::move(revoked)},
          {"galleries", info.galleries},
          {"freed", info.freed},
          {"journal_entries", info.journal_entries},
          {"journal_bytes", info.journal_bytes},
          {"unfolded", info.unfolded},
          {"key_since", info.key_since},
          {"verified", info.verified},
          {"intact", info.verified == 0 ? Json(nullptr) : Json(info.intact)},
          {"store_bytes", info.store_bytes},
          {"store_live_bytes", info.store_live_bytes},
          {"readers", info.readers},
          {"noise_margin", info.noise_margin ? Json(*info.noise_margin) : Json(nullptr)}};
}

}  // namespace heft
