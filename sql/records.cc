// SPDX-License-Identifier: Apache-2.0
// Records as rows. Written by scripts/make-records from include/heft: do not edit.
#include "sql/records.h"

namespace heft::sql {
Record RowOf(const EnrolResult& record) {
  return {ValueOf(record.brought), ValueOf(record.pending), ValueOf(record.templates),
          ValueOf(record.blocks), ValueOf(record.repeated)};
}
Record RowOf(const ActivateResult& record) {
  return {ValueOf(record.activated), ValueOf(record.rejected), ValueOf(record.pending),
          ValueOf(record.templates), ValueOf(record.blocks),   ValueOf(record.overwritten),
          ValueOf(record.kept)};
}
Record RowOf(const RemoveResult& record) {
  return {ValueOf(record.removed),  ValueOf(record.erased),     ValueOf(record.leaving),
          ValueOf(record.rejected), ValueOf(record.generation), ValueOf(record.overwritten)};
}
Record RowOf(const GalleryInfo& record) {
  return {ValueOf(record.name),
          ValueOf(record.gallery_id),
          ValueOf(record.model_id),
          ValueOf(record.key_id),
          ValueOf(record.gamma),
          ValueOf(record.generation),
          ValueOf(record.root),
          ValueOf(record.templates),
          ValueOf(record.leaving),
          ValueOf(record.pending),
          ValueOf(record.places),
          ValueOf(record.freed),
          ValueOf(record.blocks),
          TimeOf(record.started),
          TimeOf(record.key_since),
          TimeOf(record.verified),
          ValueOf(record.intact),
          ValueOf(record.retention_seconds),
          ValueOf(record.retention_bytes),
          ValueOf(record.journal_entries),
          ValueOf(record.journal_bytes),
          ValueOf(record.unfolded),
          ValueOf(record.owner_journal_entry),
          ValueOf(record.owner_journal_fork),
          ValueOf(record.store_bytes),
          ValueOf(record.store_live_bytes),
          ValueOf(record.readers)};
}
}  // namespace heft::sql
