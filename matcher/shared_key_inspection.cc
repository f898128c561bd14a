// SPDX-License-Identifier: Apache-2.0
#include "matcher/shared_key_inspection.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/envelope.h"
#include "base/signed_file.h"
#include "ckks/params.h"
#include "gallery/merkle.h"
#include "heft/trust.h"

namespace heft {
namespace {

constexpr uint64_t kMost = 1 << 24;  // of each count in these files

// Facts: reads fields in their order in the file, and shows them.
struct Facts {
  ByteReader reader;
  Json& json;
  std::string text = {};

  void Line(const std::string& line) { absl::StrAppend(&text, "  ", line, "\n"); }
  void Skip(size_t bytes) { reader.Raw(bytes); }
  void Id(const char* name, const char* label, ByteSpan id) {
    json[name] = HexString(id);
    Line(absl::StrCat(label, " ", HexString(id)));
  }
  uint64_t Number(const char* name, uint64_t number) {
    json[name] = number;
    return number;
  }
};

// Record: CERE. Owners compare its digest (heft share --keys).
void Record(ByteSpan file, ByteSpan payload, Facts* facts) {
  ByteReader& reader = facts->reader;
  facts->Skip(sizeof(KeyId));
  facts->Id("model_id", "model", reader.Raw(sizeof(ModelId)));
  const uint64_t threshold = facts->Number("threshold", reader.U32());
  const uint64_t renewal = facts->Number("renewal", reader.U32());
  facts->Skip(5 * sizeof(Digest));
  const uint64_t owners =
      facts->Number("owners", reader.Count(sizeof(SignerKey) + sizeof(Digest), kMost));
  const bool joint = EnvelopeVersion(file) > 1;
  facts->json["joint"] = joint;
  facts->Line(absl::StrCat(threshold, " of ", owners, " owners open; shares renewed ", renewal,
                           " times", joint ? "; made without a dealer" : ""));
  facts->json["signers"] = Json::array();
  for (uint64_t owner = 1; owner <= owners; ++owner) {
    const std::string signer = HexString(reader.Raw(sizeof(SignerKey)));
    facts->Skip(sizeof(Digest));
    facts->json["signers"].push_back(signer);
    facts->Line(absl::StrCat("owner ", owner, " signs with ", signer));
  }
  if (joint) facts->Skip(sizeof(uint32_t) + sizeof(Digest));
  facts->Id("ceremony", "record",
            HashBytes(joint ? payload.first(payload.size() - reader.remaining()) : file));
}

// Step: the beginning of PART and RSHR.
void Step(Facts* facts) {
  ByteReader& reader = facts->reader;
  facts->Skip(sizeof(KeyId));
  facts->Id("ceremony", "record", reader.Raw(sizeof(Digest)));
  const uint64_t owner = facts->Number("owner", reader.U32());
  std::vector<uint32_t> set(reader.Count(sizeof(uint32_t), kMost));
  reader.U32Array(set);
  facts->json["set"] = set;
  facts->Line(
      absl::StrCat("by owner ", owner, "; owners ", absl::StrJoin(set, ", "), " act together"));
}

void Part(Facts* facts) {
  constexpr size_t kState = sizeof(GalleryId) + sizeof(uint64_t) + sizeof(Digest);
  ByteReader& reader = facts->reader;
  Step(facts);
  facts->Skip(sizeof(Digest));
  facts->Skip(sizeof(Digest) * reader.Count(sizeof(Digest), kMost));
  facts->Skip(kState * reader.Count(kState, kMost));
  const uint64_t openings = facts->Number("openings", reader.Count(1, kMost));
  if (openings > 0) return facts->Line(absl::StrCat("opens ", openings, " ciphertexts"));
  const uint64_t blocks = facts->Number("renewed_blocks", reader.Count(1, kMost));
  facts->Line(blocks > 0 ? absl::StrCat("renews ", blocks, " blocks") : "of a re-keying key");
}

void NewShares(Facts* facts) {
  Step(facts);
  const uint64_t replaced = facts->Number("replaces", facts->reader.U32());
  if (replaced == 0) return;
  facts->Line(absl::StrCat("replaces owner ", replaced, " by the one that signs with ",
                           HexString(facts->reader.Raw(sizeof(SignerKey)))));
}

// Round: of a ceremony without a dealer.
void Round(uint64_t round, uint64_t owners, Facts* facts) {
  facts->Number("round", round);
  facts->Number("owners", owners);
  facts->Line(absl::StrCat("round ", round, " of 5, with ", owners, " owners"));
}

void Message(Facts* facts) {
  const uint64_t round = facts->reader.U32(), owners = facts->reader.U32();
  facts->Id("model_id", "model", facts->reader.Raw(sizeof(ModelId)));
  Round(round, owners, facts);
}

void State(Facts* facts) {
  facts->Skip(sizeof(ParamsId));
  facts->Id("model_id", "model", facts->reader.Raw(sizeof(ModelId)));
  const uint64_t owners = facts->reader.U32();
  const uint64_t owner = facts->Number("owner", facts->reader.U32());
  Round(facts->reader.U32(), owners, facts);
  if (owner > 0) facts->Line(absl::StrCat("of owner ", owner));
}

void SealedCanaries(ByteSpan file, Facts* facts) {
  facts->Skip(sizeof(KeyId));
  facts->Id("model_id", "model", facts->reader.Raw(sizeof(ModelId)));
  if (EnvelopeVersion(file) == 1) return;
  const uint64_t owners = facts->Number("owners", facts->reader.Count(1, kMost));
  facts->Line(absl::StrCat("for each of ", owners, " owners"));
}

}  // namespace

absl::StatusOr<std::string> DescribeSharedKey(ByteSpan file, std::string_view what, Json* json) {
  const std::string kind = EnvelopeKind(file);
  const ByteSpan payload = file.subspan(kEnvelopeHeaderSize).first(file.size() - kEnvelopeOverhead);
  Facts facts{ByteReader(payload, what), *json};
  if (kind == "SHAR") {  // the record of its ceremony
    facts.Skip(sizeof(ParamsId) + sizeof(KeyId));
    const ByteSpan record = facts.reader.Raw(facts.reader.Count(1, kMost));
    HEFT_RETURN_IF_ERROR(facts.reader.status());
    HEFT_ASSIGN_OR_RETURN(const ByteSpan inner, Unsigned(record, what));
    if (EnvelopeKind(inner) != "CERE") {
      return absl::DataLossError(absl::StrCat(std::string(what), ": a share without its record"));
    }
    return DescribeSharedKey(inner, what, json);
  }
  if (kind == "CERE") Record(file, payload, &facts);
  if (kind == "PART") Part(&facts);
  if (kind == "RSHR") NewShares(&facts);
  if (kind == "JOIN") Message(&facts);
  if (kind == "JKEY") State(&facts);
  if (kind == "CNRY") SealedCanaries(file, &facts);
  HEFT_RETURN_IF_ERROR(facts.reader.status());
  return facts.text;
}

}  // namespace heft
