// SPDX-License-Identifier: Apache-2.0
// Signed files, signing keys, trust files and shard lists (base/): a view lies in the input, no
// file is believed without a signature, and a trust file has the meaning of its text.
#include "base/envelope.h"
#include "base/signed_file.h"
#include "base/signing.h"
#include "fuzz/fuzz.h"
#include "heft/shards.h"

namespace heft::fuzz {
namespace {

void ReadFile(ByteSpan bytes) {
  const auto inner = Unsigned(bytes, "input");
  if (!inner.ok()) {
    CheckRefusal(inner.status());
  } else {
    Check(inner->empty() || (inner->data() >= bytes.data() &&
                             inner->data() + inner->size() <= bytes.data() + bytes.size()),
          "the file in a signed one is a part of it");
    Check(!IsSigned(bytes) || !IsSigned(*inner), "what is signed is not signed again");
  }
  const auto read = ReadSigned(bytes, "input");
  if (!read.ok()) CheckRefusal(read.status());
  Check(!read.ok() || (inner.ok() && read->file.data() == inner->data()),
        "both ways to the file lead to the same");
  const auto believed = OpenSigned(bytes, Trust(), {}, "input");
  Check(!believed.ok(), "who is in no trust file is not believed");
  CheckRefusal(believed.status());
}

void ReadKey(ByteSpan bytes) {
  const auto key = SigningKey::Impl::Parse(bytes, {}, "input");
  if (!key.ok()) return CheckRefusal(key.status());
  const auto again = (*key)->Serialize({});
  Check(again.ok() && std::equal(again->begin(), again->end(), bytes.begin(), bytes.end()),
        "a key in the clear writes the bytes that it was read from");
}

void ReadTrust(ByteSpan bytes) {
  const auto trust =
      Trust::Parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "input");
  if (!trust.ok()) return CheckRefusal(trust.status());
  const std::string text = trust->Serialize();
  const auto again = Trust::Parse(text, "again");
  Check(again.ok() && again->Serialize() == text, "a trust file reads what it writes");
}

void ReadShards(ByteSpan bytes) {
  const auto shards =
      ShardList::Parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "input");
  if (!shards.ok()) return CheckRefusal(shards.status());
  const auto again = ShardList::Parse(shards->Serialize(), "again");
  Check(again.ok() && *again == *shards, "a shard list reads what it writes");
  Check(shards->BucketOf("ann") < shards->size(), "everybody belongs into a bucket");
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heft::fuzz;  // NOLINT
  const heft::ByteSpan input(data, size);
  const std::vector<uint8_t> resealed = Resealed(input);
  for (const heft::ByteSpan bytes : {input, heft::ByteSpan(resealed)}) {
    ReadFile(bytes);
    ReadKey(bytes);
  }
  ReadTrust(input);
  ReadShards(input);
  return 0;
}
