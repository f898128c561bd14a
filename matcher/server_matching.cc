// SPDX-License-Identifier: Apache-2.0
// The server's identification and verification.
#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/identity.h"
#include "base/threads.h"
#include "fusion/matching.h"
#include "fusion/norm_proof.h"
#include "matcher/server_impl.h"
#include "matcher/server_internal.h"
#include "matcher/stand_in.h"

namespace heft {

namespace {

using internal::FirstOfEqualFiles;
using internal::Report;

std::vector<BlockView> ViewsOf(std::span<const PinnedBlock> blocks) {
  std::vector<BlockView> views;
  for (const PinnedBlock& block : blocks) views.push_back(block.view);
  return views;
}

// ProbesAPass: identified together: 64, or as many as take 1 GiB: 2 MB each at 32 dimensions of
// profile standard, 4 MB from 64 on.
size_t ProbesAPass(const Instance& matching) {
  constexpr size_t kMax = 64, kBytes = size_t{1} << 30;
  const size_t probe =
      TiledSize(*matching.context, matching.plan.ProbeRotations()) * sizeof(uint32_t);
  return std::clamp<size_t>(kBytes / probe, 1, kMax);
}

// Of one identification, on each thread: some 20 ms.
constexpr size_t kRunsBetweenReports = 32;

// TakeScores: of an identification, short where the plan has a form for it. Replies of degree two
// stay as they are: their rounding, times s^2, would be too large.
absl::Status TakeScores(const Instance& instance, ckks::Ciphertext scores, ScoreReply* reply) {
  if (!instance.plan.matching.short_replies || scores.size() != 2) {
    reply->scores = std::move(scores);
    return absl::OkStatus();
  }
  HEFT_ASSIGN_OR_RETURN(
      reply->brief, ckks::Shorten(*instance.context, scores, instance.plan.matching.reply_form));
  return absl::OkStatus();
}

}  // namespace

EncryptedScores Server::Impl::StartReply(ScoreKind kind, const SampleSet& samples,
                                         const ProbeOptions& options, ckks::Ciphertext norm,
                                         const Draw& draw) const {
  EncryptedScores reply;
  reply.kind = kind;
  reply.params_id = instance().params().id();
  reply.key_id = keys().key_id;
  reply.model_id = binding_.model_id;
  // What a client projected itself cannot be checked: any vector fits any set. The whole set has
  // the strictest thresholds.
  reply.modalities = samples.projected() ? model_.AllModalities() : samples.present();
  for (size_t m = 0; m < samples.modalities() && reply.probe.empty(); ++m) {
    if (samples.modality(m) != nullptr)
      reply.probe = samples.modality(m)->labels()[options.average ? 0 : options.row];
  }
  reply.norm_form = NormForm::kProof;
  reply.norm = std::move(norm);
  reply.head = draw.head;
  reply.origin = draw.origin;
  return reply;
}

absl::Status Server::Impl::Fuse(const ProbeFuser& prober, const SampleSet& samples,
                                const ProbeOptions& options, Fused* fused) const {
  HEFT_RETURN_IF_ERROR(CheckUse(samples, SampleUse::kIdentification));
  const std::optional<double> sigma = fused->draw->NormFactor();
  ProvenProbe probe;
  if (!rings_.thin()) {
    // The way of a verification, with the prime that the norm's factor needs.
    HEFT_ASSIGN_OR_RETURN(probe, FuseProbe(samples, options, sigma));
    HEFT_ASSIGN_OR_RETURN(fused->tiles, PrepareProbe(instance(), probe.z, keys()));
  } else {
    HEFT_ASSIGN_OR_RETURN(const ProbeInputs inputs, ReadProbe(samples, options));
    HEFT_ASSIGN_OR_RETURN(probe, FuseToIdentify(samples, inputs, sigma));
    HEFT_ASSIGN_OR_RETURN(fused->tiles, PrepareProbe(prober.instance(), probe.z, prober.keys()));
  }
  fused->norm = std::move(probe.norm);
  return absl::OkStatus();
}

absl::StatusOr<EncryptedScores> Server::Impl::Start(
    const Gallery::Impl& gallery, const SampleSet& samples, const ProbeOptions& options,
    const Fused& fused, const std::optional<Restriction>& restriction) const {
  EncryptedScores reply =
      StartReply(ScoreKind::kIdentification, samples, options, fused.norm, *fused.draw);
  reply.templates = gallery.places();
  reply.restriction = restriction;
  if (options.with_identities) {
    HEFT_ASSIGN_OR_RETURN(const std::shared_ptr<const Roster> roster, gallery.ReadRoster());
    reply.identities.resize(gallery.places());
    for (uint64_t i = 0; i < gallery.places(); ++i) {
      if (reply.Answers(i)) reply.identities[i] = roster->Name(i, fused.draw->time);
    }
  }
  reply.replies.resize(ReplyBlocks(*instance().context, reply).size());
  return reply;
}

absl::StatusOr<Server::Impl::PreparedProbe> Server::Impl::Prepare(
    const ProbeFuser& prober, const Gallery::Impl& gallery, const SampleSet& samples,
    const ProbeOptions& options, const Draw& draw,
    const std::optional<Restriction>& restriction) const {
  Fused fused = {{}, draw, {}, {}};
  HEFT_RETURN_IF_ERROR(Fuse(prober, samples, options, &fused));
  PreparedProbe out;
  HEFT_ASSIGN_OR_RETURN(out.reply, Start(gallery, samples, options, fused, restriction));
  out.tiles = std::move(fused.tiles);
  return out;
}

absl::StatusOr<std::vector<PinnedBlock>> Server::Impl::ReadBlocks(
    const Gallery::Impl& gallery, std::span<const uint64_t> blocks) const {
  std::vector<PinnedBlock> out;
  for (const uint64_t b : blocks) {
    HEFT_ASSIGN_OR_RETURN(PinnedBlock block, gallery.Block(instance(), b, keys()));
    out.push_back(std::move(block));
  }
  return out;
}

absl::Status Server::Impl::MatchRun(const Gallery::Impl& gallery, const ProbeFuser& prober,
                                    const TiledCiphertexts& probe, bool relinearise,
                                    std::span<const uint64_t> blocks,
                                    std::span<ScoreReply> replies) const {
  HEFT_ASSIGN_OR_RETURN(const std::vector<PinnedBlock> pinned, ReadBlocks(gallery, blocks));
  HEFT_ASSIGN_OR_RETURN(
      std::vector<ckks::Ciphertext> scores,
      MatchBlocks(prober.instance(), ViewsOf(pinned), probe, prober.keys(), relinearise));
  for (size_t i = 0; i < scores.size(); ++i) {
    HEFT_RETURN_IF_ERROR(TakeScores(instance(), std::move(scores[i]), &replies[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<EncryptedScores> Server::Impl::Identify(const Gallery::Impl& gallery,
                                                       const SampleSet& samples,
                                                       const ProbeOptions& options,
                                                       const ProgressFunction& progress) const {
  HEFT_ASSIGN_OR_RETURN(const Draw draw, NewDraw(gallery));
  return IdentifyAs(gallery, samples, options, draw, progress);
}

absl::StatusOr<EncryptedScores> Server::Impl::IdentifyAs(const Gallery::Impl& gallery,
                                                         const SampleSet& samples,
                                                         const ProbeOptions& options,
                                                         const Draw& draw,
                                                         const ProgressFunction& progress) const {
  Fused fused = {gallery.directory(), draw, {}, {}};
  return Match(gallery, samples, options, &fused, progress);
}

absl::StatusOr<EncryptedScores> Server::Impl::IdentifyNext(const Gallery::Impl& gallery,
                                                           const SampleSet& samples,
                                                           const ProbeOptions& options,
                                                           Fused* fused,
                                                           const ProgressFunction& progress) const {
  if (!fused->draw || fused->directory != gallery.directory()) {
    HEFT_ASSIGN_OR_RETURN(const Draw draw, NewDraw(gallery));
    *fused = {gallery.directory(), draw, {}, {}};
  }
  HEFT_ASSIGN_OR_RETURN(KeptHead kept, ReadKeptHead(gallery));
  fused->draw->From(gallery);
  fused->draw->head = std::move(kept.newest);
  return Match(gallery, samples, options, fused, progress);
}

absl::StatusOr<EncryptedScores> Server::Impl::Match(const Gallery::Impl& gallery,
                                                    const SampleSet& samples,
                                                    const ProbeOptions& options, Fused* fused,
                                                    const ProgressFunction& progress) const {
  HEFT_RETURN_IF_ERROR(gallery.CheckFits(instance(), binding()));
  HEFT_ASSIGN_OR_RETURN(const ProbeFuser* prober, Prober());
  HEFT_ASSIGN_OR_RETURN(const auto restriction,
                        gallery.Intact(instance(), keys(), fused->draw->time, options.where));
  if (fused->tiles.empty()) HEFT_RETURN_IF_ERROR(Fuse(*prober, samples, options, fused));
  HEFT_ASSIGN_OR_RETURN(EncryptedScores reply,
                        Start(gallery, samples, options, *fused, restriction));
  const std::vector<uint64_t> blocks = ReplyBlocks(*instance().context, reply);
  const size_t threads = static_cast<size_t>(std::max(1, ThreadCount()));
  const std::vector<BlockRun> runs = BlockRuns(blocks.size(), threads);
  // Between passes all threads wait for the slowest one, which may share its core.
  const size_t runs_a_pass = kRunsBetweenReports * threads;
  for (size_t start = 0; start < runs.size(); start += runs_a_pass) {
    const auto pass = std::span(runs).subspan(start, std::min(runs_a_pass, runs.size() - start));
    HEFT_RETURN_IF_ERROR(TryParallelFor(pass.size(), [&](size_t i) {
      const size_t count = pass[i].end - pass[i].first;
      return MatchRun(gallery, *prober, fused->tiles, options.relinearise,
                      std::span(blocks).subspan(pass[i].first, count),
                      std::span(reply.replies).subspan(pass[i].first, count));
    }));
    HEFT_RETURN_IF_ERROR(Report(progress, pass.back().end, blocks.size()));
  }
  return reply;
}

absl::Status Server::Impl::MatchPass(const Gallery::Impl& gallery, const ProbeFuser& prober,
                                     bool relinearise, std::span<PreparedProbe> probes,
                                     const std::function<absl::Status()>& step) const {
  const size_t count = probes.size();
  std::vector<TiledCiphertexts> tiles;
  for (PreparedProbe& probe : probes) tiles.push_back(std::move(probe.tiles));
  HEFT_ASSIGN_OR_RETURN(const ProbeBatch batch, PackProbes(prober.instance(), tiles));
  tiles.clear();
  const std::vector<uint64_t> all = ReplyBlocks(*instance().context, probes[0].reply);
  const size_t stride = BlocksAPass(instance().plan, relinearise);
  for (size_t b = 0; b < all.size(); b += stride) {
    HEFT_ASSIGN_OR_RETURN(
        const std::vector<PinnedBlock> blocks,
        ReadBlocks(gallery, std::span(all).subspan(b, std::min(stride, all.size() - b))));
    HEFT_ASSIGN_OR_RETURN(auto scores, MatchBlocks(prober.instance(), ViewsOf(blocks), batch,
                                                   prober.keys(), relinearise));
    HEFT_RETURN_IF_ERROR(TryParallelFor(scores.size(), [&](size_t i) {
      return TakeScores(instance(), std::move(scores[i]),
                        &probes[i % count].reply.replies[b + i / count]);
    }));
    HEFT_RETURN_IF_ERROR(step());
  }
  return absl::OkStatus();
}

absl::Status Server::Impl::IdentifyAll(
    const Gallery::Impl& gallery, const SampleSet& samples, const ProbeOptions& options,
    const std::function<absl::Status(size_t row, const EncryptedScores&)>& use,
    const ProgressFunction& progress) const {
  HEFT_RETURN_IF_ERROR(gallery.CheckFits(instance(), binding()));
  if (options.average) {
    return absl::InvalidArgumentError(
        "give either each sample separately or the mean of all, not both");
  }
  HEFT_ASSIGN_OR_RETURN(const ProbeFuser* prober, Prober());
  HEFT_ASSIGN_OR_RETURN(const SampleReader* file,
                        FirstOfEqualFiles(samples, "--all needs the same number"));
  const size_t rows = file->size();
  // One for all rows, which are answered from the same blocks.
  const uint64_t now = UnixTime();
  HEFT_ASSIGN_OR_RETURN(const auto restriction,
                        gallery.Intact(instance(), keys(), now, options.where));
  HEFT_ASSIGN_OR_RETURN(const KeptHead kept, ReadKeptHead(gallery));
  const size_t pass = ProbesAPass(instance());
  for (size_t first = 0; first < rows; first += pass) {
    const size_t count = std::min(pass, rows - first);
    std::vector<PreparedProbe> probes;
    for (size_t i = 0; i < count; ++i) {
      ProbeOptions one = options;
      one.row = first + i;
      HEFT_ASSIGN_OR_RETURN(Draw draw, NewDraw(gallery, kept));
      draw.time = now;
      HEFT_ASSIGN_OR_RETURN(PreparedProbe prepared,
                            Prepare(*prober, gallery, samples, one, draw, restriction));
      probes.push_back(std::move(prepared));
      HEFT_RETURN_IF_ERROR(Report(progress, first + i, rows));
    }
    HEFT_RETURN_IF_ERROR(MatchPass(gallery, *prober, options.relinearise, probes,
                                   [&] { return Report(progress, first + count, rows); }));
    for (size_t i = 0; i < count; ++i) HEFT_RETURN_IF_ERROR(use(first + i, probes[i].reply));
  }
  return absl::OkStatus();
}

void Server::Impl::IdentifyAlike(const Gallery::Impl& gallery, std::span<const Asked> asked,
                                 std::span<absl::StatusOr<EncryptedScores>* const> replies) const {
  if (asked.size() == 1) {
    *replies[0] = Identify(gallery, *asked[0].samples, *asked[0].options);
    return;
  }
  const auto all_fail = [&](const absl::Status& status) {
    for (absl::StatusOr<EncryptedScores>* reply : replies) *reply = status;
  };
  const uint64_t now = UnixTime();
  const absl::Status fits = gallery.CheckFits(instance(), binding());
  if (!fits.ok()) return all_fail(fits);
  const auto prober = Prober();
  if (!prober.ok()) return all_fail(prober.status());
  const auto restriction = gallery.Intact(instance(), keys(), now, asked[0].options->where);
  if (!restriction.ok()) return all_fail(restriction.status());
  const auto kept = ReadKeptHead(gallery);
  if (!kept.ok()) return all_fail(kept.status());
  std::vector<absl::StatusOr<PreparedProbe>> prepared(asked.size());
  ParallelFor(asked.size(), [&](size_t i) {
    auto draw = NewDraw(gallery, *kept);
    if (!draw.ok()) {
      prepared[i] = draw.status();
      return;
    }
    draw->time = now;
    prepared[i] =
        Prepare(**prober, gallery, *asked[i].samples, *asked[i].options, *draw, *restriction);
  });
  std::vector<PreparedProbe> probes;
  std::vector<size_t> index;
  for (size_t i = 0; i < prepared.size(); ++i) {
    if (!prepared[i].ok()) {
      *replies[i] = prepared[i].status();
      continue;
    }
    probes.push_back(*std::move(prepared[i]));
    index.push_back(i);
  }
  if (probes.empty()) return;
  const absl::Status matched = MatchPass(gallery, **prober, asked[0].options->relinearise, probes,
                                         [] { return absl::OkStatus(); });
  for (size_t i = 0; i < probes.size(); ++i) {
    if (matched.ok()) {
      *replies[index[i]] = std::move(probes[i].reply);
    } else {
      *replies[index[i]] = matched;
    }
  }
}

std::vector<absl::StatusOr<EncryptedScores>> Server::Impl::IdentifyTogether(
    const Gallery::Impl& gallery, std::span<const Asked> asked) const {
  std::vector<absl::StatusOr<EncryptedScores>> out(asked.size());
  std::vector<bool> done(asked.size());
  const size_t pass = ProbesAPass(instance());
  for (size_t first = 0; first < asked.size(); ++first) {
    if (done[first]) continue;
    std::vector<Asked> alike;
    std::vector<absl::StatusOr<EncryptedScores>*> replies;
    for (size_t i = first; i < asked.size() && alike.size() < pass; ++i) {
      if (done[i] || asked[i].options->where != asked[first].options->where ||
          asked[i].options->relinearise != asked[first].options->relinearise) {
        continue;
      }
      alike.push_back(asked[i]);
      replies.push_back(&out[i]);
      done[i] = true;
    }
    IdentifyAlike(gallery, alike, replies);
  }
  return out;
}

absl::StatusOr<EncryptedScores> Server::Impl::Verify(const Gallery::Impl& gallery,
                                                     const SampleSet& samples,
                                                     const std::string& identity,
                                                     const ProbeOptions& options) const {
  HEFT_ASSIGN_OR_RETURN(const Draw draw, NewDraw(gallery));
  return VerifyAs(gallery, samples, identity, options, draw);
}

absl::StatusOr<EncryptedScores> Server::Impl::VerifyAs(const Gallery::Impl& gallery,
                                                       const SampleSet& samples,
                                                       const std::string& given,
                                                       const ProbeOptions& options,
                                                       const Draw& draw) const {
  HEFT_RETURN_IF_ERROR(gallery.CheckFits(instance(), binding()));
  HEFT_ASSIGN_OR_RETURN(const std::string identity, NormalIdentity(given));
  if (gallery.size() == 0) {
    return absl::FailedPreconditionError(
        "the gallery has no enrolled people: enrol a person first");
  }
  HEFT_ASSIGN_OR_RETURN(ProvenProbe probe, FuseProbe(samples, options, draw.NormFactor()));
  EncryptedScores reply =
      StartReply(ScoreKind::kVerification, samples, options, std::move(probe.norm), draw);
  reply.claimed = identity;
  reply.identities = {identity};
  HEFT_ASSIGN_OR_RETURN(const Seed stand_in_key, StandInKey(gallery.directory()));
  HEFT_ASSIGN_OR_RETURN(const Claim claim,
                        FindClaim(instance(), gallery, stand_in_key, identity, draw.time));
  for (const auto& [place, slot_list] : claim.places) {
    const auto [block_index, lane] = place;
    HEFT_ASSIGN_OR_RETURN(const PinnedBlock block, gallery.Block(instance(), block_index, keys()));
    HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts masked,
                          PrepareMaskedProbe(instance(), probe.z, slot_list, lane, keys()));
    ScoreReply part;
    const Drowning drowning = {draw.seed ? &*draw.seed : nullptr, reply.replies.size()};
    HEFT_ASSIGN_OR_RETURN(part.scores,
                          VerifyBlock(instance(), claim.known ? block.view : claim.stand_in, masked,
                                      slot_list, lane, keys(), drowning));
    // VerifyBlock moves the claimed lane to the real parts.
    for (uint32_t slot : slot_list) part.answers.push_back({slot, 0, 0});
    reply.replies.push_back(std::move(part));
  }
  return reply;
}

}  // namespace heft
