// SPDX-License-Identifier: Apache-2.0
// Seeds of keys, in every form in which they travel, and of files that are signed with them.
#include <filesystem>

#include "base/envelope.h"
#include "base/files.h"
#include "base/signing.h"
#include "base/testing.h"
#include "fusion/expanded_keys.h"
#include "fusion/key_files.h"
#include "fusion/matching.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/rekey.h"
#include "fuzz/fuzz.h"
#include "fuzz/seeds.h"
#include "heft/shards.h"
#include "heft/trust.h"
#include "owner/journal_anchor.h"
#include "owner/journal_file.h"

namespace heft::fuzz {
namespace {

// A journal with each act once, and its anchor.
absl::Status WriteJournal(const SeedWriter& seeds, const ckks::KeyId& key_id) {
  HEFT_ASSIGN_OR_RETURN(const JournalKeys keys, JournalKeys::Random(key_id));
  HEFT_ASSIGN_OR_RETURN(const auto tag_key, NewTagKey());
  const JournalFileHead head = {keys.fingerprint(), key_id, keys.Seal(tag_key), {}};
  std::vector<uint8_t> bytes = head.Serialize(keys);
  Link link;
  QueryLedger ledger;
  for (const Entry::Act act :
       {Entry::Act::kStart, Entry::Act::kLimits, Entry::Act::kOpening, Entry::Act::kPart,
        Entry::Act::kGiven, Entry::Act::kPublished, Entry::Act::kRestart, Entry::Act::kRevocation,
        Entry::Act::kCheckpoint}) {
    Entry entry;
    entry.sequence = link.sequence + 1;
    entry.time = 1000 * entry.sequence;
    entry.act = act;
    entry.client = {1};
    entry.model = {2};
    entry.slots = 3;
    entry.decision = entry.claimed = act == Entry::Act::kPublished;
    entry.identities = {{4}, {5}};
    entry.text = "seed";
    if (act == Entry::Act::kCheckpoint) entry.state = ledger.Serialize();
    HEFT_RETURN_IF_ERROR(ledger.Apply(entry, "seed"));
    const std::vector<uint8_t> sealed = SealEntry(entry, keys, &link);
    bytes.insert(bytes.end(), sealed.begin(), sealed.end());
  }
  HEFT_RETURN_IF_ERROR(seeds.Write("keys", "journal", bytes));
  return seeds.Write("keys", "anchor", Anchor{link, 1, {}}.Serialize(keys));
}

absl::Status WriteKeys(const SeedWriter& seeds, const ckks::SecretKey& secret, Csprng& rng) {
  const ckks::Context& context = *SmallContext();
  HEFT_RETURN_IF_ERROR(
      seeds.Write("keys", "encryption",
                  SerializeEncryptionKey(context, ckks::MakePublicKey(context, secret, rng))));
  EvaluationKeysWriter writer(context, secret.key_id(), 2);
  writer.Add(1, ckks::MakeRelinearisationKey(context, secret, 2, rng));
  writer.Add(3, ckks::MakeGaloisKey(context, secret, 3, 1, rng));
  HEFT_RETURN_IF_ERROR(seeds.Write("keys", "evaluation", writer.Finish()));
  HEFT_ASSIGN_OR_RETURN(const auto clear, SerializeSecretKey(context, secret, {}));
  HEFT_RETURN_IF_ERROR(seeds.Write("keys", "secret", clear));
  HEFT_ASSIGN_OR_RETURN(const auto sealed,
                        SerializeSecretKey(context, secret, std::string("seed")));
  HEFT_RETURN_IF_ERROR(seeds.Write("keys", "sealed", sealed));
  HEFT_ASSIGN_OR_RETURN(const auto next, ckks::SecretKey::Generate(context, rng));
  HEFT_RETURN_IF_ERROR(seeds.Write(
      "keys", "rekeying",
      SerializeRekeyingKey(
          context, secret.key_id(), next.key_id(),
          ckks::MakeRekeyingKey(context, secret, next, MatchLimbs(context.params()), rng))));
  return WriteJournal(seeds, secret.key_id());
}

// Keys expanded, of a signed file and of one that is not.
absl::Status WriteExpandedKeys(const SeedWriter& seeds, const ckks::SecretKey& secret,
                               Csprng& rng) {
  const ckks::Context& context = *SmallContext();
  const std::vector<ExpandedKeys::Impl::Entry> entries = {
      {1, {context, ckks::MakeRelinearisationKey(context, secret, 2, rng), 1}},
      {3, {context, ckks::MakeGaloisKey(context, secret, 3, 1, rng), 3}}};
  KeySource source;
  source.kind = std::string(kEvaluationKeysKind);
  source.stamp = {1, 2, 3, 4};
  for (const char* name : {"plain", "signed"}) {
    const ExpandedPieces pieces =
        PackExpandedKeys(source, context.params().id(), secret.key_id(), context.n(), entries);
    ByteWriter writer;
    for (const ByteSpan piece : pieces.all()) writer.Raw(piece);
    HEFT_RETURN_IF_ERROR(seeds.Write("expanded_keys", name, writer.bytes()));
    source.head.bytes.assign(kSignedHeadSize, 7);
  }
  return absl::OkStatus();
}

// The same made elsewhere: both halves in full.
absl::Status WriteFullKeys(const SeedWriter& seeds, const ckks::SecretKey& secret, Csprng& rng) {
  const ckks::Context& context = *SmallContext();
  ckks::PublicKey key = ckks::MakePublicKey(context, secret, rng);
  key.seeded = false;
  HEFT_RETURN_IF_ERROR(
      seeds.Write("keys", "encryption-full", SerializeEncryptionKey(context, key)));
  const ckks::SeededSwitchKey one = ckks::MakeGaloisKey(context, secret, 3, 1, rng);
  ckks::FullSwitchKey full;
  full.b = one.b;
  full.a = {ring::RnsPoly(context.n(), 2)};
  ckks::ExpandUniform(context, full.a[0].limb(0), one.seed, 0, 0);
  ckks::ExpandUniform(context, full.a[0].limb(1), one.seed, 0, context.special_index());
  return seeds.Write("keys", "evaluation-full",
                     SerializeFullEvaluationKeys(context, secret.key_id(), {{3, full}}));
}

// SEAL's own files: the tests of seal/ have small ones.
absl::Status WriteSealObjects(const SeedWriter& seeds) {
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::SourcePath("tests/data/seal"))) {
    if (entry.path().has_extension()) continue;  // README.md, expected.json
    HEFT_ASSIGN_OR_RETURN(const auto bytes, ReadFile(entry.path().string()));
    HEFT_RETURN_IF_ERROR(seeds.Write("seal", entry.path().filename().string(), bytes));
  }
  return absl::OkStatus();
}

absl::Status WriteSigned(const SeedWriter& seeds) {
  HEFT_ASSIGN_OR_RETURN(const auto key,
                        SigningKey::Impl::FromSeed(std::vector<uint8_t>(kSigningSeedSize, 1)));
  HEFT_ASSIGN_OR_RETURN(const auto clear, key->Serialize({}));
  HEFT_RETURN_IF_ERROR(seeds.Write("signed", "key", clear));
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer,
                        SigningKeyOfSeed(std::vector<uint8_t>(kSigningSeedSize, 1)));
  Statement statement;
  statement.role = Role::kServer;
  statement.gallery = {1};
  statement.nonce = {2};
  statement.issued = 2'000'000'000;
  HEFT_ASSIGN_OR_RETURN(const auto file,
                        signer.Sign(statement, SealEnvelope("TEST", 1, AsBytes("signed"))));
  HEFT_RETURN_IF_ERROR(seeds.Write("signed", "file", file));
  Trust trust;
  HEFT_RETURN_IF_ERROR(trust.Add(Role::kServer, "server", {1}));
  HEFT_RETURN_IF_ERROR(trust.Add(Role::kClient, "camera", {2}));
  HEFT_RETURN_IF_ERROR(trust.Revoke({2}));
  trust.Pin({3}, 4);
  HEFT_RETURN_IF_ERROR(seeds.Write("signed", "trust", trust.Serialize()));
  HEFT_ASSIGN_OR_RETURN(const ShardList shards, ShardList::Make("people", {{1}, {2}}));
  return seeds.Write("signed", "shards", shards.Serialize());
}

}  // namespace

absl::Status WriteKeySeeds(const SeedWriter& seeds, const ckks::SecretKey& secret, Csprng& rng) {
  HEFT_RETURN_IF_ERROR(WriteKeys(seeds, secret, rng));
  HEFT_RETURN_IF_ERROR(WriteFullKeys(seeds, secret, rng));
  HEFT_RETURN_IF_ERROR(WriteExpandedKeys(seeds, secret, rng));
  HEFT_RETURN_IF_ERROR(WriteSealObjects(seeds));
  return WriteSigned(seeds);
}

}  // namespace heft::fuzz
