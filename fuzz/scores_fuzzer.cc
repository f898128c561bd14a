// SPDX-License-Identifier: Apache-2.0
// Encrypted scores (gallery/scores.cc): an accepted file writes the same bytes again, and its
// answers are those of its templates.
#include "base/envelope.h"
#include "ckks/shape.h"
#include "fuzz/fuzz.h"
#include "gallery/scores.h"

namespace heft::fuzz {
namespace {

void CheckRestriction(const EncryptedScores& scores) {
  for (size_t i = 0; i < scores.identities.size(); ++i) {
    Check(scores.identities[i].empty() != scores.Answers(i), "a name a place that answers");
  }
  if (!scores.restriction) return;
  const Restriction& restriction = *scores.restriction;
  Check(restriction.answering.places() == scores.templates, "a bit a place");
  Check(restriction.answering.count() < scores.templates, "somebody does not answer");
  Check(CheckConditions(restriction.where).ok(), "conditions are sound");
}

void Read(ByteSpan bytes) {
  const ckks::Context& context = *SmallContext();
  const auto scores = ParseScores(context, bytes, "input");
  const auto about = ParseAboutScores(context, bytes, "input");
  if (!about.ok()) CheckRefusal(about.status());
  if (!scores.ok()) return CheckRefusal(scores.status());
  Check(about.ok() && about->model_id == scores->model_id && about->key_id == scores->key_id &&
            about->kind == scores->kind && about->modalities == scores->modalities &&
            about->probe == scores->probe,
        "the beginning alone says the same");
  const std::vector<uint8_t> again = SerializeScores(context, *scores);
  Check(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()),
        "scores write the bytes that they were read from");
  Check(scores->modalities != 0, "a probe has a modality");
  const auto origin = OriginOf(bytes, "input");
  Check(origin.ok() && *origin == scores->origin, "an origin stands at the end");
  uint64_t answers = 0;
  for (const ScoreReply& reply : scores->replies) {
    answers += reply.answers.size();
    Check(reply.brief.has_value() == scores->replies[0].brief.has_value(),
          "all replies are short, or none");
    if (reply.brief) {
      const ckks::Ciphertext full = reply.Full(context);
      Check(CheckShape(context, full).ok() && full.size() == 2 && full.limbs() == 1,
            "a short reply is lengthened to a ciphertext");
    }
    for (const ScoreReply::Answer& answer : reply.answers) {
      Check(answer.slot < context.slots() && answer.lane < 2, "an answer within the slots");
      Check(scores->identities.empty() || answer.identity < scores->identities.size(),
            "an answer of an identity that is there");
    }
  }
  if (scores->kind == ScoreKind::kIdentification) {
    Check(answers == scores->AnsweringTemplates(), "an answer a place that answers");
    Check(scores->replies.size() == ReplyBlocks(context, *scores).size(), "a reply a block");
    CheckRestriction(*scores);
  } else {
    Check(!scores->restriction, "a verification leaves no place out");
    Check(scores->identities.size() == 1, "a verification is of one identity");
    Check(scores->identities[0] == scores->claimed, "the identity is the one claimed");
  }
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heft::fuzz::ReadBothWays({data, size}, heft::fuzz::Read);
  return 0;
}
