// SPDX-License-Identifier: Apache-2.0
// Key files: encryption key, evaluation keys, secret key, re-keying key (fusion/key_files.cc,
// fusion/owner/secret_key_file.cc, fusion/rekey.cc). Also the journal of openings beside a secret
// key and its anchor (owner/). The kind says which file it is.
// Sealed secret keys are read up to where a passphrase is needed, and journals without looking at
// their MACs.
#include "base/envelope.h"
#include "fusion/key_files.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/rekey.h"
#include "fuzz/fuzz.h"
#include "owner/journal_anchor.h"
#include "owner/journal_file.h"

namespace heft::fuzz {
namespace {

void CheckSame(const std::vector<uint8_t>& again, ByteSpan bytes) {
  Check(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()),
        "a key writes the bytes that it was read from");
}

void ReadEncryptionKey(const ckks::Context& context, ByteSpan bytes) {
  const auto key = ParseEncryptionKey(context, bytes, "input");
  if (!key.ok()) return CheckRefusal(key.status());
  CheckSame(SerializeEncryptionKey(context, *key), bytes);
}

void ReadEvaluationKeys(const ckks::Context& context, ByteSpan bytes) {
  const auto keys = ParseEvaluationKeys(context, bytes, "input");
  if (!keys.ok()) return CheckRefusal(keys.status());
  const size_t count = keys->galois.size() + (keys->relinearisation.limbs() > 0 ? 1 : 0);
  ByteReader reader(bytes.subspan(kEnvelopeHeaderSize + 32), "count");
  Check(reader.U64() == count, "every key declared is there");
  for (const auto& [element, key] : keys->galois) {
    Check(element % 2 == 1 && element > 1 && element < 2 * context.n(), "a Galois element");
    Check(key.limbs() >= 1 && key.limbs() <= context.params().limbs(), "limbs of the context");
    for (size_t l = 0; l <= key.limbs(); ++l) {
      const size_t prime = l < key.limbs() ? l : context.special_index();
      for (size_t i = 0; i < key.limbs() * 2 * context.n(); ++i) {
        Check(key.limb(l)[i] < context.modulus(prime).value(), "residues below their prime");
      }
    }
  }
}

void ReadSecretKey(const ckks::Context& context, ByteSpan bytes) {
  const auto sealed = SecretKeyIsSealed(bytes, "input");
  if (!sealed.ok()) CheckRefusal(sealed.status());
  const auto key = ParseSecretKey(context, bytes, {}, "input");
  if (!key.ok()) return CheckRefusal(key.status());
  Check(sealed.ok() && !*sealed, "a sealed key needs its passphrase");
  CheckSame(*SerializeSecretKey(context, *key, {}), bytes);
}

void ReadRekeyingKey(const ckks::Context& context, ByteSpan bytes) {
  const auto key = ParseRekeyingKey(context, bytes, "input");
  if (!key.ok()) return CheckRefusal(key.status());
  Check(key->from != key->to, "leads to another key");
  Check(key->key.limbs() >= MatchLimbs(context.params()), "serves a gallery's blocks");
}

void ReadJournal(ByteSpan bytes) {
  const auto head = JournalFileHead::Parse(bytes, nullptr, "input");
  if (!head.ok()) return CheckRefusal(head.status());
  const ByteSpan rest = bytes.subspan(JournalFileHead::kSize);
  Link link{head->before.sequence, {}};
  QueryLedger ledger;
  size_t at = 0;
  const auto read =
      ReadEntries(rest, nullptr, "input", &link, [&](const Entry& entry, const Link&) {
        const std::vector<uint8_t> again = entry.Serialize();
        Check(again.size() <= rest.size() - at - 8, "an entry writes no more than was read");
        CheckSame(again, rest.subspan(at + 8, again.size()));
        at += 8 + again.size() + sizeof(Hash);
        return ledger.Apply(entry, "input");
      });
  if (!read.ok()) return CheckRefusal(read.status());
  Check(*read == at && at <= rest.size(), "entries are what was read");
  const std::vector<uint8_t> sum = ledger.Serialize();
  const auto back = QueryLedger::Parse(sum, "sum");
  Check(back.ok() && back->Serialize() == sum, "a ledger survives its checkpoint");
}

void ReadAnchorFile(ByteSpan bytes) {
  const auto anchor = Anchor::Parse(bytes, nullptr, "input");
  if (!anchor.ok()) CheckRefusal(anchor.status());
}

void Read(ByteSpan bytes) {
  const ckks::Context& context = *SmallContext();
  const std::string kind = EnvelopeKind(bytes);
  if (kind == kEvaluationKeysKind) return ReadEvaluationKeys(context, bytes);
  if (kind == kSecretKeyKind) return ReadSecretKey(context, bytes);
  if (kind == kRekeyingKeyKind) return ReadRekeyingKey(context, bytes);
  if (kind == kJournalKind) return ReadJournal(bytes);
  if (kind == kAnchorKind) return ReadAnchorFile(bytes);
  ReadEncryptionKey(context, bytes);
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heft::fuzz::ReadBothWays({data, size}, heft::fuzz::Read);
  return 0;
}
