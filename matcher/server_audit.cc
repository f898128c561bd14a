// SPDX-License-Identifier: Apache-2.0
// The seeds of a server's random choices, and the recomputation of a reply (heft/audit.h).
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/csprng.h"
#include "base/envelope.h"
#include "base/inside.h"
#include "ckks/serialization.h"
#include "fusion/norm_factor.h"
#include "gallery/admission.h"
#include "heft/audit.h"
#include "matcher/folder_key.h"
#include "matcher/server_impl.h"

namespace heft {
namespace {

constexpr std::string_view kSeedKind = "SEED";
constexpr uint32_t kSeedVersion = 1;

absl::Status Refused(std::string_view what, std::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(std::string(what), ": ", std::string(why)));
}

AuditFinding Wrong(std::string reason) { return {false, std::move(reason)}; }

struct SeedFile {
  Digest nonce{};
  Seed seed{};
};

absl::StatusOr<SeedFile> ParseSeed(ByteSpan bytes, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, kSeedKind, kSeedVersion, what));
  ByteReader reader(payload, what);
  SeedFile out;
  const ByteSpan nonce = reader.Raw(out.nonce.size()), seed = reader.Raw(out.seed.size());
  HEFT_RETURN_IF_ERROR(reader.Finish());
  std::ranges::copy(nonce, out.nonce.begin());
  std::ranges::copy(seed, out.seed.begin());
  return out;
}

// The content of a signed reply from a trusted server, whatever its age.
absl::StatusOr<SignedFile> OpenReply(ByteSpan bytes, const Trust& trust, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const SignedFile unasked, ReadSigned(bytes, what));
  Expected expected;
  expected.roles = {Role::kServer};
  expected.kind = "SCOR";
  expected.audience = unasked.statement.audience;
  expected.now = unasked.statement.issued;
  return OpenSigned(bytes, trust, expected, what);
}

// Asked: the samples of a request, and the row that was asked about, or kAllRows.
struct Asked {
  SampleSet samples;
  uint64_t row = 0;
};

// The request that a reply answers.
absl::StatusOr<Asked> FindRequest(const Server::Impl& impl, const Audited& audited,
                                  const Digest& answered, std::string_view what) {
  for (const std::vector<SampleFile>& request : audited.requests) {
    std::vector<ByteSpan> files;
    for (const SampleFile& file : request) files.emplace_back(file.bytes);
    const Digest digest = FilesDigest(files);
    HEFT_ASSIGN_OR_RETURN(SampleSet samples, impl.Read(request));
    size_t rows = SIZE_MAX;
    for (size_t m = 0; m < samples.modalities(); ++m) {
      if (samples.modality(m) != nullptr) rows = std::min(rows, samples.modality(m)->size());
    }
    for (uint64_t row = 0; row < rows; ++row) {
      if (RequestDigest(digest, row) == answered) return Asked{std::move(samples), row};
    }
    if (RequestDigest(digest, kAllRows) == answered) return Asked{std::move(samples), kAllRows};
  }
  return Refused(
      what,
      "answers another request than these files (all files of a request belong together: a "
      "folder of them for heft audit --request)");
}

std::vector<uint8_t> BytesOf(const ckks::Context& context, const ckks::Ciphertext& c) {
  ByteWriter writer;
  ckks::WriteCiphertext(writer, context, c);
  return writer.Take();
}

// The difference between a server's reply and the recomputed one.
std::string Difference(const ckks::Context& context, const EncryptedScores& said,
                       const EncryptedScores& made) {
  if (said.modalities != made.modalities) {
    return "it says that the probe had other modalities than the request";
  }
  if (said.identities != made.identities || said.templates != made.templates ||
      said.restriction != made.restriction) {
    return "it names other templates than the gallery, or others answer";
  }
  if (said.norm_form != made.norm_form ||
      (said.norm_form != NormForm::kNone &&
       BytesOf(context, said.norm) != BytesOf(context, made.norm))) {
    return "its proof of the probe's norm does not follow from the probe and the seed";
  }
  for (size_t i = 0; i < std::min(said.replies.size(), made.replies.size()); ++i) {
    if (said.replies[i].brief.has_value() == made.replies[i].brief.has_value() &&
        BytesOf(context, said.replies[i].Full(context)) ==
            BytesOf(context, made.replies[i].Full(context))) {
      continue;
    }
    return said.kind == ScoreKind::kVerification
               ? "its scores, or the noise around them, do not follow from the gallery and the seed"
               : absl::StrCat("its scores of block ", ReplyBlocks(context, said)[i],
                              " do not follow from the gallery");
  }
  return "it has another form than the reply to this request";
}

}  // namespace

void Draw::From(const Gallery::Impl& gallery) {
  origin.gallery = gallery.id();
  origin.generation = gallery.generation();
  origin.root = gallery.root();
}

std::optional<double> Draw::NormFactor() const {
  if (!seed) return std::nullopt;
  return NormFactorOf(seed->U32("norm factor"));
}

absl::StatusOr<Draw> Server::Impl::NewDraw(const Gallery::Impl& gallery) const {
  HEFT_ASSIGN_OR_RETURN(const KeptHead kept, ReadKeptHead(gallery));
  return NewDraw(gallery, kept);
}

absl::StatusOr<Draw> Server::Impl::NewDraw(const Gallery::Impl& gallery,
                                           const KeptHead& kept) const {
  Draw draw;
  draw.From(gallery);
  draw.head = kept.newest;
  draw.time = UnixTime();
  const auto key = ReadFolderKey(AuditKeyPath(gallery.directory()), kAuditKeyKind);
  if (absl::IsNotFound(key.status())) return draw;
  HEFT_RETURN_IF_ERROR(key.status());
  Csprng().Fill(draw.origin.nonce);
  draw.seed = ReplySeed::Derive(*key, draw.origin.nonce);
  draw.origin.commitment = draw.seed->Commitment(draw.origin.nonce);
  return draw;
}

absl::StatusOr<EncryptedScores> Server::Impl::Repeat(const Gallery::Impl& gallery,
                                                     const SampleSet& samples,
                                                     const EncryptedScores& said, uint64_t row,
                                                     const ReplySeed& seed, uint64_t issued) const {
  ProbeOptions options;
  options.average = row == kAllRows;
  options.row = options.average ? 0 : row;
  options.with_identities = !said.identities.empty();
  options.relinearise = std::ranges::none_of(
      said.replies, [](const ScoreReply& reply) { return reply.scores.size() == 3; });
  if (said.restriction) options.where = said.restriction->where;
  // Without a restriction no template had expired.
  const bool verification = said.kind == ScoreKind::kVerification;
  const uint64_t time =
      verification ? issued : (said.restriction ? said.restriction->time : uint64_t{0});
  const Draw draw = {said.origin, seed, time, said.head};
  return said.kind == ScoreKind::kVerification
             ? VerifyAs(gallery, samples, said.claimed, options, draw)
             : IdentifyAs(gallery, samples, options, draw);
}

absl::Status MakeAuditKey(const std::string& gallery) {
  return FolderKey(AuditKeyPath(FolderOf(gallery)), kAuditKeyKind, "a gallery's first reply")
      .status();
}

absl::StatusOr<std::vector<uint8_t>> RevealSeed(const std::string& gallery, const SignerKey& server,
                                                std::span<const uint8_t> reply,
                                                std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(reply, what));
  if (file.signer != server || file.statement.role != Role::kServer) {
    return Refused(what, "not signed by this server, which reveals only seeds of its own replies");
  }
  HEFT_ASSIGN_OR_RETURN(const ReplyOrigin origin, OriginOf(file.file, what));
  HEFT_ASSIGN_OR_RETURN(const Seed key,
                        ReadFolderKey(AuditKeyPath(FolderOf(gallery)), kAuditKeyKind));
  const ReplySeed seed = ReplySeed::Derive(key, origin.nonce);
  if (seed.Commitment(origin.nonce) != origin.commitment) {
    return Refused(what, origin.commitment == Digest{}
                             ? "it was made without an audit key, so it commits to no seed"
                             : "its seed is from another gallery's audit key");
  }
  ByteWriter writer;
  writer.Raw(origin.nonce);
  writer.Raw(seed.bytes());
  return SealEnvelope(kSeedKind, kSeedVersion, writer.bytes());
}

std::vector<size_t> ChooseForAudit(size_t replies, size_t one_in) {
  std::vector<size_t> order(replies);
  std::iota(order.begin(), order.end(), size_t{0});
  // Rounded up, for any one_in.
  const size_t count = one_in == 0 ? replies : replies / one_in + (replies % one_in == 0 ? 0 : 1);
  Csprng rng;
  for (size_t i = 0; i < count; ++i) {
    // Within 2^-40 of uniform, for any realistic number of replies.
    std::swap(order[i], order[i + rng.U64() % (replies - i)]);
  }
  order.resize(count);
  std::ranges::sort(order);
  return order;
}

absl::StatusOr<AuditFinding> AuditReply(const Server& server, const Gallery& copy,
                                        const Trust& trust, const Audited& audited) {
  const std::string what = "the reply";
  const Server::Impl& impl = Inside::Of(server);
  const Gallery::Impl& gallery = Inside::Of(copy);
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, OpenReply(audited.reply, trust, what));
  HEFT_ASSIGN_OR_RETURN(const EncryptedScores said,
                        ParseScores(*impl.instance().context, file.file, what));
  if (said.origin.commitment == Digest{}) {
    return Refused(what, "it commits to no seed: the server has no audit key");
  }
  const ReplyOrigin& origin = said.origin;
  HEFT_RETURN_IF_ERROR(gallery.CheckFits(impl.instance(), impl.binding()));
  if (origin.gallery != copy.id() || origin.generation != copy.generation()) {
    return Refused(what, absl::StrCat("of generation ", origin.generation, " of gallery ",
                                      HexString(origin.gallery), ", but the copy is generation ",
                                      copy.generation(), " of ", HexString(copy.id()),
                                      ": audit it with a copy of that time"));
  }
  HEFT_ASSIGN_OR_RETURN(const Asked asked,
                        FindRequest(impl, audited, file.statement.request, what));
  if (file.statement.gallery != origin.gallery || file.statement.generation != origin.generation) {
    return Wrong("it was made from another gallery, or another generation, than it is signed for");
  }
  if (said.restriction && (said.restriction->time > file.statement.issued ||
                           file.statement.issued - said.restriction->time > kLongestRequest)) {
    return Wrong("expiry was checked at another time than the reply was signed");
  }
  if (!said.restriction && said.kind == ScoreKind::kIdentification) {
    // The reply says that no template had expired. One may have expired between the reply's making
    // and its signature, in a large batch.
    constexpr uint64_t kSlack = 3600;
    const uint64_t before = file.statement.issued - std::min(file.statement.issued, kSlack);
    HEFT_ASSIGN_OR_RETURN(const auto restriction, gallery.Restricted(before, {}));
    if (restriction) return Wrong("expired templates have answered");
  }
  const absl::Status intact = gallery.CheckIntact(&impl.instance());
  if (!intact.ok()) return Wrong(std::string(intact.message()));
  if (origin.root != gallery.root()) {
    return Wrong(
        "the gallery of the reply has another root than this copy: other templates, or other "
        "blocks");
  }
  HEFT_ASSIGN_OR_RETURN(const SeedFile revealed, ParseSeed(audited.seed, "the revealed seed"));
  const ReplySeed seed = ReplySeed::Revealed(revealed.seed);
  if (revealed.nonce != origin.nonce || seed.Commitment(origin.nonce) != origin.commitment) {
    return Wrong("the revealed seed is not the one that the reply commits to");
  }
  HEFT_ASSIGN_OR_RETURN(
      const EncryptedScores made,
      impl.Repeat(gallery, asked.samples, said, asked.row, seed, file.statement.issued));
  const std::vector<uint8_t> again = SerializeScores(*impl.instance().context, made);
  if (std::ranges::equal(again, file.file)) return AuditFinding{true, ""};
  return Wrong(Difference(*impl.instance().context, said, made));
}

absl::StatusOr<AuditFinding> AuditGallery(const Server& server, const Gallery& copy,
                                          std::span<const uint8_t> state, const Trust& trust,
                                          std::string_view what) {
  const Server::Impl& impl = Inside::Of(server);
  const Gallery::Impl& gallery = Inside::Of(copy);
  HEFT_RETURN_IF_ERROR(gallery.CheckFits(impl.instance(), impl.binding()));
  HEFT_ASSIGN_OR_RETURN(const SignedFile unasked, ReadSigned(state, what));
  Expected expected;
  expected.roles = {Role::kKeyOwner};
  expected.kind = kAdmissionKind;
  expected.now = unasked.statement.issued;  // the signature stays valid
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, OpenSigned(state, trust, expected, what));
  HEFT_ASSIGN_OR_RETURN(const Admission admission, ParseAdmission(file.file, what));
  if (admission.gallery != copy.id()) return Refused(what, "it is of another gallery");
  if (admission.generation != copy.generation()) {
    return Wrong(absl::StrCat(
        "the key owner has signed generation ", admission.generation, ", but this is generation ",
        copy.generation(),
        ": it is not signed yet (heft-server pending, heft answer, heft-server apply)"));
  }
  const absl::Status intact = gallery.CheckIntact(&impl.instance());
  if (!intact.ok()) return Wrong(std::string(intact.message()));
  if (admission.root == gallery.root()) return AuditFinding{true, ""};
  return Wrong(
      "the gallery has another root than the one that the key owner signed: other templates, or "
      "other blocks");
}

}  // namespace heft
