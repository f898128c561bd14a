// SPDX-License-Identifier: Apache-2.0
// Encrypted scores (kind SCOR): the server's answer to a probe. Format: docs/formats.md.
#ifndef HEFT_GALLERY_SCORES_H_
#define HEFT_GALLERY_SCORES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/envelope.h"
#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/keys.h"
#include "ckks/short_ciphertext.h"
#include "fusion/plan.h"
#include "gallery/restriction.h"
#include "heft/gallery.h"
#include "heft/model.h"
#include "heft/trust.h"

namespace heft {

// One ciphertext of scores, and its slots that answer.
struct ScoreReply {
  struct Answer {
    uint32_t slot = 0;
    uint32_t lane = 0;  // 0: real part, 1: imaginary part
    uint32_t identity =
        0;  // index into EncryptedScores::identities; the position, if that is empty
  };
  std::vector<Answer> answers;
  ckks::Ciphertext scores;
  // Replaces `scores`, only in identifications: in all replies of a file, or in none.
  std::optional<ckks::ShortCiphertext> brief = {};

  // Full: `scores`, or `brief` lengthened.
  ckks::Ciphertext Full(const ckks::Context& context) const;
};

// NormForm: a reply's statement of its probe's norm. kNone: none, and nothing may be decided.
// kProof: a proof (fusion/norm_proof.h).
enum class NormForm : uint8_t { kNone = 0, kProof = 1 };

// ReplyOrigin: the gallery that a reply was made from, and the source of its random choices
// (heft/audit.h).
struct ReplyOrigin {
  GalleryId gallery{};
  uint64_t generation = 0;
  Digest root{};        // of that generation; zeros: unknown
  Digest nonce{};       // of the seed
  Digest commitment{};  // to the seed; zeros: cannot be recomputed
  bool operator==(const ReplyOrigin&) const = default;
};

struct EncryptedScores {
  ScoreKind kind = ScoreKind::kIdentification;
  ckks::ParamsId params_id{};
  ckks::KeyId key_id{};
  ModelId model_id{};
  // The probe's modalities, as its samples declare them: bit i is Model::modalities[i]. Selects the
  // thresholds.
  uint32_t modalities = 0;
  std::string probe;    // label of the probe, as the client gave it
  std::string claimed;  // verification: the claimed identity
  // Identification: the identity of every place of the gallery, empty for places that do not
  // answer; or none if the server left the names out. Verification: only the claimed identity.
  std::vector<std::string> identities;
  uint64_t templates = 0;  // identification: places of the gallery
  // Identification: none if every place answers.
  std::optional<Restriction> restriction;
  // Identification: one per block with an answering place, in their order (ReplyBlocks).
  std::vector<ScoreReply> replies;
  // z|^2 of the probe as it was matched (fusion/norm_proof.h). Nothing may be decided without it.
  NormForm norm_form = NormForm::kNone;
  ckks::Ciphertext norm;  // empty for kNone
  // The signed end of the key owner's journal that the server holds (gallery/journal_head.h);
  // empty: none.
  std::vector<uint8_t> head;
  ReplyOrigin origin;

  // Of an identification: whether a place answers, and how many places do.
  bool Answers(uint64_t place) const {
    return !restriction || restriction->answering.Contains(place);
  }
  uint64_t AnsweringTemplates() const {
    return restriction ? restriction->answering.count() : templates;
  }
};

// ReplyBlocks: the blocks whose scores an identification's replies contain.
std::vector<uint64_t> ReplyBlocks(const ckks::Context& context, const EncryptedScores& scores);
// IdentificationAnswers: the places of block `block` that answer. They are not sent.
std::vector<ScoreReply::Answer> IdentificationAnswers(const ckks::Context& context, uint64_t block,
                                                      const EncryptedScores& scores);

// Restrict: leaves out names and replies of places that do not answer, in an identification with
// all names and the replies of all blocks. A set of all places changes nothing.
void Restrict(const ckks::Context& context, Restriction restriction, EncryptedScores* scores);

std::vector<uint8_t> SerializeScores(const ckks::Context& context, const EncryptedScores& scores);
// WriteScores: the same, appended; returns its hash.
Hash WriteScores(ByteWriter& writer, const ckks::Context& context, const EncryptedScores& scores);
// kFailedPrecondition for other parameters, kDataLoss for damaged bytes and for a probe without any
// modality. The caller must check that its modalities are the model's. `checksum`: kKnown
// for scores whose signature was checked.
absl::StatusOr<EncryptedScores> ParseScores(const ckks::Context& context, ByteSpan bytes,
                                            std::string_view what,
                                            Checksum checksum = Checksum::kCheck);
// ParseAboutScores: their beginning alone: ids, kind, modalities, labels of probe and claim. Checks
// no checksum. Cheap. Errors as ParseScores.
absl::StatusOr<EncryptedScores> ParseAboutScores(const ckks::Context& context, ByteSpan bytes,
                                                 std::string_view what);
// OriginOf: reads the origin, at the end of a reply, without the reply's parameters.
absl::StatusOr<ReplyOrigin> OriginOf(ByteSpan reply, std::string_view what);

}  // namespace heft

#endif  // HEFT_GALLERY_SCORES_H_
