// SPDX-License-Identifier: Apache-2.0
// The server's side of removals and renewals.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/csprng.h"
#include "base/identity.h"
#include "base/inside.h"
#include "base/progress.h"
#include "gallery/authorisation.h"
#include "gallery/change.h"
#include "gallery/journal_head.h"
#include "gallery/receipt.h"
#include "gallery/removal.h"
#include "heft/gallery_admin.h"
#include "matcher/server_impl.h"

namespace heft {
namespace {

absl::Status CheckAllowed(const GalleryId& gallery, const std::vector<std::string>& identities,
                          const RemoveOptions& options) {
  if (options.trust == nullptr || !options.trust->Lists(Role::kRegistrar)) return absl::OkStatus();
  if (options.authorisation.empty()) {
    return absl::FailedPreconditionError(
        "a removal needs the authorisation of a registrar, because the trust file lists one: make "
        "it with heft authorise --act remove and give it with --authorisation");
  }
  if (identities.size() != 1) {
    return absl::InvalidArgumentError("an authorisation is for one identity: remove one at a time");
  }
  return CheckAuthorisation(options.authorisation, *options.trust, AuthorisedAct::kRemove, gallery,
                            identities[0], "the authorisation");
}

absl::StatusOr<GalleryChange> BeginChange(const Server::Impl& server, const std::string& gallery,
                                          bool set_back = false) {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl state, server.OpenGallery(gallery, /*create=*/false));
  return GalleryChange::Begin(std::move(state), /*start=*/false, set_back);
}

// Rejects the pending enrolments of these identities, and adds those found to `found`. Returns the
// number of rejected templates.
absl::StatusOr<size_t> RejectPending(GalleryChange* change, const std::set<std::string>& whose,
                                     std::set<std::string>* found) {
  HEFT_ASSIGN_OR_RETURN(const auto pending, change->before().PendingEnrolments());
  size_t rejected = 0;
  for (const auto& entry : pending) {
    const auto theirs = static_cast<size_t>(std::ranges::count_if(
        entry.record.identities, [&](const std::string& name) { return whose.contains(name); }));
    if (theirs == 0) continue;
    if (theirs != entry.record.identities.size()) {
      return absl::FailedPreconditionError(
          "this identity is pending together with others: let the key owner decide on that "
          "enrolment first (heft-server pending, heft answer, heft-server apply)");
    }
    HEFT_RETURN_IF_ERROR(change->DropPending(entry.digest).status());
    rejected += theirs;
    found->insert(entry.record.identities.begin(), entry.record.identities.end());
  }
  return rejected;
}

// Commits. If templates are gone (`anybody`), or receipts are due, overwrites deleted data and
// signs receipts.
template <typename Result>
absl::Status Finish(GalleryChange* change, std::span<const ErasedItem> items, bool anybody,
                    const std::string& gallery, Result* result) {
  // Loads the signing key first: nothing is removed if it cannot be signed for.
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, GallerySigner(gallery));
  HEFT_RETURN_IF_ERROR(PutReceipt(change, items));
  HEFT_ASSIGN_OR_RETURN(const std::vector<ReceiptRecord> due, DueReceipts(*change));
  HEFT_RETURN_IF_ERROR(change->Commit());
  result->generation = change->head().generation;
  if (due.empty() && !anybody) return absl::OkStatus();
  auto receipts = FinishReceipts(change, signer);
  result->overwritten = receipts.status();
  if (receipts.ok()) result->receipts = std::move(*receipts);
  return absl::OkStatus();
}

// Removes the templates at these positions.
absl::StatusOr<RemoveResult> RemoveAll(const Server::Impl& server, GalleryChange* change,
                                       const std::string& gallery,
                                       std::span<const uint64_t> positions, size_t rejected) {
  RemoveResult result;
  result.rejected = rejected;
  for (const uint64_t position : positions) {
    HEFT_ASSIGN_OR_RETURN(const Resident* resident, change->Place(position));
    const std::string person = HexString(resident->person);
    if (std::ranges::count(result.persons, person) == 0) result.persons.push_back(person);
  }
  HEFT_ASSIGN_OR_RETURN(const RemovedPlaces removed,
                        RemovePlaces(change, server.instance(), server.keys(), positions));
  result.removed = positions.size();
  result.erased = removed.erased;
  result.leaving = removed.leaving;
  HEFT_RETURN_IF_ERROR(Finish(change, removed.items, /*anybody=*/true, gallery, &result));
  return result;
}

}  // namespace

absl::StatusOr<RemoveResult> RejectPending(const Server& server, const std::string& gallery,
                                           std::span<const Digest> entries) {
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, BeginChange(Inside::Of(server), gallery));
  RemoveResult result;
  for (const Digest& entry : entries) {
    HEFT_ASSIGN_OR_RETURN(const std::optional<size_t> templates, change.DropPending(entry));
    if (!templates) {
      return absl::NotFoundError(absl::StrCat("no enrolment ", HexString(entry), " is pending in ",
                                              gallery,
                                              ": give the 64 digits of an entry, as heft-server "
                                              "pending and gallery stats --verify show them"));
    }
    result.rejected += *templates;
  }
  HEFT_RETURN_IF_ERROR(Finish(&change, {}, /*anybody=*/true, gallery, &result));
  return result;
}

namespace {

// Positions of the templates in these runs that satisfy `which`.
template <typename Which>
absl::StatusOr<std::vector<uint64_t>> Positions(const GalleryChange& change,
                                                const std::vector<uint64_t>& runs,
                                                const Which& which) {
  std::vector<uint64_t> positions;
  for (const uint64_t number : runs) {
    HEFT_ASSIGN_OR_RETURN(const Run run, change.PeekRun(number));
    for (size_t i = 0; i < kRunPlaces; ++i) {
      if (run[i].state != PlaceState::kLive || !which(run[i])) continue;
      positions.push_back(number * kRunPlaces + i);
    }
  }
  return positions;
}

// RunsOf: the runs that may have templates of these people, whose positions the index has `named`.
absl::StatusOr<std::vector<uint64_t>> RunsOf(GalleryChange* change,
                                             const std::set<std::string>& identities,
                                             const std::vector<NamedPlaces>& named) {
  TemplateMarks marks = {identities, {}, {}};
  for (const std::string& identity : identities) {
    marks.names.insert(HashName(change->head().id, identity));
  }
  for (const NamedPlaces& places : named) {
    for (const uint64_t position : places.places) {
      HEFT_ASSIGN_OR_RETURN(const Run run, change->PeekRun(position / kRunPlaces));
      const Resident& at = run[position % kRunPlaces];
      if (at.state == PlaceState::kLive) marks.persons.insert(at.person);
    }
  }
  return change->RunsOf(marks);
}

}  // namespace

absl::StatusOr<RemoveResult> Remove(const Server& server, const std::string& gallery,
                                    const std::vector<std::string>& given,
                                    const RemoveOptions& options) {
  if (given.empty()) return absl::InvalidArgumentError("no identity to remove: give one");
  std::vector<std::string> identities;
  for (const std::string& identity : given) {
    HEFT_ASSIGN_OR_RETURN(identities.emplace_back(), NormalIdentity(identity));
  }
  const Server::Impl& impl = Inside::Of(server);
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, BeginChange(impl, gallery));
  HEFT_RETURN_IF_ERROR(CheckAllowed(change.head().id, identities, options));
  const std::set<std::string> whose(identities.begin(), identities.end());
  std::set<std::string> found;
  HEFT_ASSIGN_OR_RETURN(const size_t rejected, RejectPending(&change, whose, &found));
  std::vector<NamedPlaces> named;
  for (const std::string& identity : whose) {
    HEFT_ASSIGN_OR_RETURN(named.emplace_back(), change.Find(identity));
  }
  // The index of names alone may lack some.
  HEFT_ASSIGN_OR_RETURN(const auto runs, RunsOf(&change, whose, named));
  HEFT_ASSIGN_OR_RETURN(const auto positions, Positions(change, runs, [&](const Resident& r) {
                          if (!whose.contains(r.identity)) return false;
                          found.insert(r.identity);
                          return true;
                        }));
  auto places = named.begin();
  for (const std::string& identity : whose) {
    for (const uint64_t position : (places++)->places) {
      if (std::ranges::binary_search(positions, position)) continue;
      return OfStore(absl::DataLossError(absl::StrCat(
          gallery, ": the index of names has \"", identity, "\" at position ", position,
          ", where the roster has another or nobody: restore the gallery from a snapshot "
          "(`heft-server gallery restore`)")));
    }
    HEFT_ASSIGN_OR_RETURN(const NamedPlaces before, change.before().Find(identity));
    if (!found.contains(identity) && before.pending == 0) {
      return absl::NotFoundError(absl::StrCat("\"", identity, "\" is not enrolled in ", gallery));
    }
  }
  return RemoveAll(impl, &change, gallery, positions, rejected);
}

absl::StatusOr<RemoveResult> RemoveExpired(const Server& server, const std::string& gallery) {
  const Server::Impl& impl = Inside::Of(server);
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, BeginChange(impl, gallery));
  HEFT_ASSIGN_OR_RETURN(const auto positions,
                        Positions(change, change.AllRuns(), [&](const Resident& r) {
                          return r.expires != kNoTime && r.expires <= change.now();
                        }));
  return RemoveAll(impl, &change, gallery, positions, 0);
}

absl::StatusOr<RemoveResult> RemoveAt(const Server& server, const std::string& gallery,
                                      std::span<const uint64_t> positions,
                                      const std::function<absl::Status(GalleryChange*)>& first) {
  const Server::Impl& impl = Inside::Of(server);
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, BeginChange(impl, gallery, /*set_back=*/true));
  HEFT_RETURN_IF_ERROR(first(&change));
  return RemoveAll(impl, &change, gallery, positions, 0);
}

absl::StatusOr<RemoveResult> RollBack(const Server& server, const std::string& gallery,
                                      uint64_t generation) {
  const Server::Impl& impl = Inside::Of(server);
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, BeginChange(impl, gallery));
  if (generation > change.head().generation) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the gallery is at generation ", change.head().generation, ", not yet at ", generation));
  }
  size_t gone = 0;
  HEFT_ASSIGN_OR_RETURN(const auto positions,
                        Positions(change, change.AllRuns(), [&](const Resident& r) {
                          if (r.generation <= generation) return false;
                          gone += r.entry <= change.head().retired ? 1 : 0;
                          return true;
                        }));
  if (gone > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(gone, " of the ", positions.size(),
                     " templates that were enrolled after generation ", generation,
                     " cannot be rolled back, because they came in bulk, have moved, or are older "
                     "than the journal keeps: remove them (heft-server gallery remove)"));
  }
  return RemoveAll(impl, &change, gallery, positions, 0);
}

absl::StatusOr<std::vector<uint8_t>> AskRenewal(const Server& server, const std::string& gallery,
                                                const RenewalOptions& options,
                                                const Monitor& monitor) {
  const Server::Impl& impl = Inside::Of(server);
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, BeginChange(impl, gallery));
  HEFT_RETURN_IF_ERROR(change.Fold(impl.instance(), impl.keys()));
  HEFT_ASSIGN_OR_RETURN(const RenewalPlan plan,
                        PlanRenewal(&change, impl.instance(), options.compact));
  if (plan.targets.empty()) {
    return absl::NotFoundError(options.compact
                                   ? "there is nothing to compact"
                                   : "no templates leave this gallery: there is nothing to renew");
  }
  const Progress progress(monitor, "padding blocks");
  RenewalRequest request;
  request.binding = change.head().binding;
  request.gallery = change.head().id;
  HEFT_ASSIGN_OR_RETURN(KeptHead kept, ReadKeptHead(&change));
  request.head = std::move(kept.newest);
  ExchangeRecord exchange;
  Csprng().Fill(request.exchange);
  Csprng().Fill(exchange.seed);
  exchange.asked = change.now();
  exchange.targets = plan.targets;
  for (size_t s = 0; s < plan.sources.size(); ++s) {
    const uint64_t block = plan.sources[s];
    HEFT_RETURN_IF_ERROR(change.EndExchanges(block));
    HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts data,
                          change.ReadCheckpoint(impl.instance(), block));
    HEFT_ASSIGN_OR_RETURN(PaddedBlock padded,
                          PadBlock(impl.instance(), data, exchange.seed, s, impl.keys()));
    request.sources.push_back(std::move(padded));
    exchange.sources.push_back({block, change.infos()[block].checkpoint});
    const ProgressFunction report = progress.Callback();
    if (report && !report(s + 1, plan.sources.size())) return absl::CancelledError("interrupted");
  }
  for (const ExchangeRecord::Target& target : plan.targets) request.targets.push_back(target.moves);
  HEFT_RETURN_IF_ERROR(change.AddExchange(request.exchange, exchange));
  HEFT_RETURN_IF_ERROR(change.Commit());
  request.generation = change.head().generation;
  return SerializeRenewalRequest(impl.instance(), request);
}

absl::StatusOr<RenewResult> Renew(const Server& server, const std::string& gallery,
                                  std::span<const uint8_t> answer, std::string_view what,
                                  const Trust& trust) {
  const Server::Impl& impl = Inside::Of(server);
  Expected expected;
  expected.roles = {Role::kKeyOwner};
  expected.kind = kRenewalKind;
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, OpenSigned(answer, trust, expected, what));
  HEFT_ASSIGN_OR_RETURN(const Renewal renewal, ParseRenewal(impl.instance(), file.file, what));
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, BeginChange(impl, gallery));
  if (!(renewal.binding == change.head().binding) || renewal.gallery != change.head().id) {
    return absl::FailedPreconditionError(
        "an answer to another gallery, or under another model or key");
  }
  HEFT_ASSIGN_OR_RETURN(const FinishedRenewal done,
                        FinishRenewal(&change, impl.instance(), renewal));
  RenewResult result;
  result.blocks = done.blocks;
  result.freed = done.freed;
  result.moved = done.moved;
  for (const ErasedItem& item : done.items) result.erased += item.templates;
  HEFT_RETURN_IF_ERROR(Finish(&change, done.items, result.erased > 0, gallery, &result));
  result.leaving = change.head().leaving;
  return result;
}

absl::StatusOr<RenewResult> Renew(const Server& server, const std::string& gallery,
                                  std::span<const uint8_t> answer, std::string_view what,
                                  const SignerKey& key_owner) {
  Trust trust;
  HEFT_RETURN_IF_ERROR(trust.Add(Role::kKeyOwner, "the key owner", key_owner));
  return Renew(server, gallery, answer, what, trust);
}

absl::StatusOr<std::vector<std::vector<uint8_t>>> EraseRemains(const std::string& gallery) {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl state, Gallery::Impl::Open(gallery));
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, GallerySigner(gallery));
  HEFT_ASSIGN_OR_RETURN(GalleryChange change,
                        GalleryChange::Begin(std::move(state), /*start=*/false));
  return FinishReceipts(&change, signer);
}

absl::StatusOr<std::vector<std::vector<uint8_t>>> Receipts(const std::string& gallery) {
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl state, Gallery::Impl::Open(gallery));
  std::vector<std::vector<uint8_t>> receipts;
  absl::Status status;
  HEFT_RETURN_IF_ERROR(state.reader().Scan(
      Table::kReceipts, NumberKey(state.number(), 0), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(state.number(), key)) return false;
        auto record = ParseReceipt(value, "the gallery's receipts");
        status = record.status();
        if (status.ok() && record->erased != 0) receipts.push_back(std::move(record->receipt));
        return status.ok();
      }));
  HEFT_RETURN_IF_ERROR(status);
  return receipts;
}

absl::StatusOr<ErasureReceipt> ReadReceipt(std::span<const uint8_t> receipt,
                                           std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(receipt, what));
  HEFT_ASSIGN_OR_RETURN(const Receipt parsed, ParseReceiptFile(file.file, what));
  ErasureReceipt out = {parsed.gallery, parsed.generation, parsed.erased, {}, {}};
  for (const ErasedItem& item : parsed.items) {
    out.persons.push_back(HexString(item.person));
    out.removed.push_back(item.removed == 0 ? parsed.removed : item.removed);
  }
  return out;
}

}  // namespace heft
