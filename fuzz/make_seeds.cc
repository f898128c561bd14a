// SPDX-License-Identifier: Apache-2.0
// Writes the seed corpus of every fuzz target below a folder: good files, from which a fuzzer
// starts.
//
//   make_seeds NEW_FOLDER
//
// The model is the golden one; everything that holds ciphertexts is made anew under the small
// parameters of fuzz.h, because a fuzzer gets nowhere on the golden files' hundreds of kilobytes.
#include <filesystem>
#include <iostream>

#include "base/envelope.h"
#include "base/files.h"
#include "base/signing.h"
#include "base/testing.h"
#include "ckks/owner/secret_key.h"
#include "ckks/serialization.h"
#include "features/readers.h"
#include "fusion/expanded_keys.h"
#include "fusion/key_files.h"
#include "fusion/matching.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/rekey.h"
#include "fusion/samples.h"
#include "fuzz/fuzz.h"
#include "fuzz/service_seeds.h"
#include "gallery/admission.h"
#include "gallery/authorisation.h"
#include "gallery/owner/journal_anchor.h"
#include "gallery/owner/journal_file.h"
#include "gallery/owner/legacy_budget.h"
#include "gallery/records.h"
#include "gallery/renewal.h"
#include "gallery/request_log.h"
#include "gallery/scores.h"
#include "gallery/store.h"
#include "heft/server.h"
#include "learning/train.h"

namespace heft::fuzz {
namespace {

constexpr double kScale = 0x1p12;

class SeedWriter {
 public:
  explicit SeedWriter(std::string root) : root_(std::move(root)) {}
  absl::Status Write(const std::string& target, const std::string& name, ByteSpan bytes) const {
    HEFT_RETURN_IF_ERROR(MakeDirectories(root_ + "/" + target));
    return WriteFileAtomic(root_ + "/" + target + "/" + name, bytes);
  }
  absl::Status Write(const std::string& target, const std::string& name,
                     std::string_view text) const {
    return Write(target, name, AsBytes(text));
  }

 private:
  std::string root_;
};

absl::Status WriteScoreFiles(const SeedWriter& seeds) {
  HEFT_RETURN_IF_ERROR(seeds.Write(
      "score_files", "csv",
      "\xef\xbb\xbf"
      "bio_ref_subject_id,bio_ref_template_id,probe_subject_id,probe_key,kind,split,score,plain\r\n"
      "ann,0,ann,1,genuine,test,0.5,0.49\r\n\"B, \"\"x\"\"\",2,ann,1,impostor,,nan,-1e-3\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("score_files", "four", "a a p/1.png 0.5\na b p/2.png -7\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("score_files", "five", "a m a p 0.5\n\na m b q nan\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("score_files", "lists",
                                   "x 0.5\n0.25\n\x01"
                                   "0.125\n"));
  return seeds.Write("score_files", "histogram",
                     "3\n\x01"
                     "2\n0\n1\n");
}

absl::Status WriteFeatures(const SeedWriter& seeds) {
  const FeatureMatrix matrix = (FeatureMatrix(2, 3) << 1, -2, 0.5, 0, 3, -0.25).finished();
  std::vector<uint8_t> npy = FormatNpy(matrix);
  HEFT_RETURN_IF_ERROR(seeds.Write("npy", "float32", npy));
  const std::string header = "{'descr': '<f8', 'fortran_order': True, 'shape': (2,), }\n";
  ByteWriter writer;
  writer.Raw(AsBytes("\x93NUMPY\x02"));
  writer.U8(0);
  writer.U32(static_cast<uint32_t>(header.size()));
  writer.Raw(AsBytes(header));
  writer.F64(0.5);
  writer.F64(-1e300);
  HEFT_RETURN_IF_ERROR(seeds.Write("npy", "float64-version2", writer.bytes()));
  HEFT_RETURN_IF_ERROR(seeds.Write("text", "lines", "# face\n1, -2e-3; +0.5\n1e-999 4 5\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("text", "brackets", "[[1.0 2.0\n 3.0]\n [4 5 6]]\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("text", "fields",
                                   "\xef\xbb\xbf"
                                   "1\t2,,3;\n+4 5 6,\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("text", "names", "J\u00fcrgen\na\u202eb\n\xfc\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("text", "labels", "ann\n bob \nann\n\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("protocol", "headers",
                                   "path,template_id,subject_id\na.png,t,p\nb.png,t,p\n\x01"
                                   "path,template_id,subject_id\nc/d,q,p\na,r,z\n\x01"
                                   "enroll_template_id,probe_template_id\nt,q\nt,r\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("protocol", "lists",
                                   "a m p\nb m p\nc/d.x n z\n\x01"
                                   "c/d p\na p\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("protocol", "scores",
                                   "a m p\nb n z\n\x01"
                                   "c/d m p p\nc/d n z p\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("protocol", "names", "a\nb\nc/d\n"));
  HEFT_RETURN_IF_ERROR(WriteScoreFiles(seeds));
  HEFT_RETURN_IF_ERROR(seeds.Write("text", "conditions",
                                   "site=berlin\nlist=a|b\nage=18..30.5\nage=..-1e3\nx=1..y\n"));
  return seeds.Write("text", "split", "train\nvalidation\ntest\n");
}

absl::Status WriteLearning(const SeedWriter& seeds) {
  HEFT_ASSIGN_OR_RETURN(const auto model, ReadFile(HEFT_SOURCE_DIR "/tests/golden/model.heft"));
  HEFT_RETURN_IF_ERROR(seeds.Write("model", "golden", model));
  HEFT_ASSIGN_OR_RETURN(const auto decided, ReadFile(HEFT_SOURCE_DIR "/tests/golden/model-3.heft"));
  HEFT_RETURN_IF_ERROR(seeds.Write("model", "decided", decided));
  TrainCheckpoint checkpoint;
  checkpoint.options = {{"seed", 1}, {"recipe", "generalising"}};
  checkpoint.epoch = 2;
  checkpoint.best_epoch = 1;
  checkpoint.best_auroc = 0.75;
  checkpoint.adam.step = 2;
  checkpoint.projection = (FeatureMatrix(1, 2) << 0.5, -1).finished();
  checkpoint.best = checkpoint.adam.mean = checkpoint.adam.square = checkpoint.projection;
  checkpoint.modality_weights = {1, 0.5};
  return seeds.Write("checkpoint", "two-epochs", FormatCheckpoint(checkpoint));
}

// A journal with each act once, and its anchor.
absl::Status WriteJournal(const SeedWriter& seeds, const ckks::KeyId& key_id) {
  HEFT_ASSIGN_OR_RETURN(const JournalKeys keys, JournalKeys::Random(key_id));
  HEFT_ASSIGN_OR_RETURN(const auto tag_key, NewTagKey());
  const JournalHead head = {keys.fingerprint(), key_id, keys.Seal(tag_key), {}};
  std::vector<uint8_t> bytes = head.Serialize(keys);
  Link link;
  QueryLedger ledger;
  for (const Entry::Act act :
       {Entry::Act::kStart, Entry::Act::kLimits, Entry::Act::kOpening, Entry::Act::kPublished,
        Entry::Act::kRestart, Entry::Act::kRevocation, Entry::Act::kCheckpoint}) {
    Entry entry;
    entry.sequence = link.sequence + 1;
    entry.time = 1000 * entry.sequence;
    entry.act = act;
    entry.client = {1};
    entry.model = {2};
    entry.slots = 3;
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
  HEFT_RETURN_IF_ERROR(WriteJournal(seeds, secret.key_id()));
  LegacyBudget record;
  record.params_id = context.params().id();
  record.key_id = secret.key_id();
  record.galleries[ModelId{1}] = {49, 2, {{{7}, 3}, {{9}, 1}}};
  record.galleries[ModelId{2}] = {};
  return seeds.Write("keys", "budget", record.Serialize());
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
       std::filesystem::directory_iterator(HEFT_SOURCE_DIR "/tests/data/seal")) {
    if (entry.path().has_extension()) continue;  // README.md, expected.json
    HEFT_ASSIGN_OR_RETURN(const auto bytes, ReadFile(entry.path().string()));
    HEFT_RETURN_IF_ERROR(seeds.Write("seal", entry.path().filename().string(), bytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<ckks::SeededCiphertext> Encrypt(const ckks::SecretKey& secret, size_t limbs,
                                               Csprng& rng) {
  const std::vector<double> values = {0.5, -0.25};
  HEFT_ASSIGN_OR_RETURN(const auto plain, SmallInstance().encoder->Encode(values, kScale, limbs));
  return ckks::EncryptSymmetric(*SmallContext(), plain, secret, rng);
}

absl::Status WriteSamples(const SeedWriter& seeds, const ckks::SecretKey& secret, Csprng& rng) {
  const ckks::Context& context = *SmallContext();
  using enum SampleEncoding;
  const std::map<SampleEncoding, std::string> names = {
      {kCompact, "compact"}, {kBulk, "bulk"}, {kPartial, "partial"}, {kFused, "fused"}};
  for (const auto& [encoding, name] : names) {
    for (const bool seeded : {false, true}) {
      SampleHeader header;
      header.params_id = context.params().id();
      header.key_id = secret.key_id();
      header.modality = encoding == kFused ? "" : "face";
      header.dimension = 2;
      header.encoding = encoding;
      header.run = encoding == kCompact ? 1 : 0;
      header.gamma = encoding == kBulk ? 0 : kSmallGamma;
      header.seeded = seeded;
      const std::vector<std::string> labels = {"ann", ""};
      SampleWriter writer(context, header, labels);
      for (int i = 0; i < 2; ++i) {  // two samples, or two coordinates
        HEFT_ASSIGN_OR_RETURN(const auto c, Encrypt(secret, context.params().limbs(), rng));
        if (seeded) {
          writer.Add(c);
        } else {
          writer.Add(ckks::Expand(context, c));
        }
      }
      HEFT_RETURN_IF_ERROR(
          seeds.Write("samples", name + (seeded ? "-seeded" : ""), writer.Finish()));
    }
  }
  return absl::OkStatus();
}

// A gallery of version 0.1 with two templates, by docs/formats.md: nobody writes them any more.
absl::Status WriteGallery(const SeedWriter& seeds, const ckks::SecretKey& secret) {
  const ckks::Context& context = *SmallContext();
  ByteWriter binding;
  ckks::WriteId(binding, context.params().id());
  ckks::WriteId(binding, secret.key_id());
  ckks::WriteId(binding, ModelId{});
  binding.U32(kSmallGamma);
  ByteWriter manifest;
  manifest.Raw(binding.bytes());
  manifest.U64(1);  // generation
  manifest.U64(1);  // blocks
  manifest.U64(1);  // generation of block 0
  manifest.U64(2);
  manifest.String("ann");
  manifest.String("bob");
  ByteWriter block;
  block.Raw(binding.bytes());
  block.U64(0);
  block.Raw(std::vector<uint8_t>(44));
  std::vector<uint32_t> residues(TiledSize(context, kSmallGamma));
  for (size_t i = 0; i < residues.size(); ++i) residues[i] = static_cast<uint32_t>(i);
  block.U32Array(residues);
  std::vector<uint8_t> both = SealEnvelope("GALM", 1, manifest.bytes());
  const std::vector<uint8_t> sealed = SealEnvelope("GBLK", 1, block.bytes());
  both.insert(both.end(), sealed.begin(), sealed.end());
  return seeds.Write("gallery", "two-templates", both);
}

// What stands in a gallery's store, each record behind the letter that the fuzzer knows it by.
absl::Status WriteRecords(const SeedWriter& seeds, const ckks::SecretKey& secret) {
  const auto write = [&](const std::string& name, char kind, const std::vector<uint8_t>& record) {
    std::vector<uint8_t> bytes = {static_cast<uint8_t>(kind)};
    bytes.insert(bytes.end(), record.begin(), record.end());
    return seeds.Write("records", name, bytes);
  };
  GalleryHead head;
  head.binding.key_id = secret.key_id();
  head.binding.gamma = kSmallGamma;
  head.generation = 3;
  head.places = 3;
  head.live = head.next_entry = 2;
  head.leaving = 1;
  head.block_places = kRunPlaces;
  head.revoked = {{1}, {2}};
  HEFT_RETURN_IF_ERROR(write("head", 'h', SerializeHead(head)));
  BlockInfo info;
  info.checkpoint = {1};
  info.live = 2;
  info.wear.wear = 0.5;
  HEFT_RETURN_IF_ERROR(write("info", 'i', SerializeBlockInfo(info)));
  Run run;
  run[0].state = run[2].state = PlaceState::kLive;
  run[0].identity = "ann";
  run[0].sample = {1};
  run[2].identity = "J\u00fcrgen";
  run[2].parts = {{2}, {3}};
  run[2].expires = 2'000'000'000;
  run[1].state = PlaceState::kLeaving;
  HEFT_RETURN_IF_ERROR(write("run", 'r', SerializeRun(run)));
  run[1].left = 2'000'000'000;
  run[1].name = {4};
  HEFT_RETURN_IF_ERROR(write("run-left", 'r', SerializeRun(run)));
  HEFT_RETURN_IF_ERROR(write("waiting", 'w', SerializeWaiting({{"ann", "bob"}, {{1}, {2}}})));
  const std::vector<uint8_t> fused(40, 7);
  HEFT_RETURN_IF_ERROR(
      write("entry", 'j', SerializeEntry({5, 3, 2'000'000'000, HashBytes(fused), fused})));
  HEFT_RETURN_IF_ERROR(write("fold", 'f', SerializeFold({1, 2'000'000'000})));
  HEFT_RETURN_IF_ERROR(write("named", 'n', SerializeNamed({1, {0, 2}})));
  ExchangeRecord exchange;
  exchange.sources = {{0, {1}}, {3, {2}}};
  exchange.targets = {{3, {{0, 1, 2}, {1, 3, 3}}}};
  HEFT_RETURN_IF_ERROR(write("exchange", 'x', SerializeExchange(exchange)));
  ReceiptRecord receipt = {3, 2'000'000'000, 2'000'000'001, {{{1}, 2}}, {1, 2, 3}};
  HEFT_RETURN_IF_ERROR(write("receipt", 'c', SerializeReceipt(receipt)));
  receipt.items[0].removed = 1'999'999'999;
  HEFT_RETURN_IF_ERROR(write("receipt-times", 'c', SerializeReceipt(receipt)));
  const std::vector<uint32_t> residues = {1, 2, 3, 4};
  BlockHeader header;
  header.gamma = kSmallGamma;
  header.hash = ResiduesHash(residues);
  return write("block", 'b', SerializeBlock(header, residues));
}

absl::Status WriteScores(const SeedWriter& seeds, const ckks::SecretKey& secret, Csprng& rng) {
  const ckks::Context& context = *SmallContext();
  HEFT_ASSIGN_OR_RETURN(const auto fresh, Encrypt(secret, ScoreLimbs(context.params()), rng));
  EncryptedScores scores;
  scores.params_id = context.params().id();
  scores.key_id = secret.key_id();
  scores.probe = "probe";
  scores.identities = {"ann", "bob"};
  scores.templates = 2;
  scores.replies = {{{}, ckks::Expand(context, fresh)}};
  scores.norm_form = NormForm::kProof;
  scores.norm = ckks::Expand(context, fresh);
  HEFT_RETURN_IF_ERROR(seeds.Write("scores", "identification", SerializeScores(context, scores)));
  scores.origin = {.generation = 3, .root = {1}, .nonce = {2}, .commitment = {3}};
  HEFT_RETURN_IF_ERROR(seeds.Write("scores", "audited", SerializeScores(context, scores)));
  EncryptedScores brief = scores;
  HEFT_ASSIGN_OR_RETURN(brief.replies[0].brief,
                        ckks::Shorten(context, scores.replies[0].scores, {8, 2, 1}));
  HEFT_RETURN_IF_ERROR(seeds.Write("scores", "short", SerializeScores(context, brief)));
  EncryptedScores restricted = scores;
  Restriction restriction = {PlaceSet::None(2), 1'800'000'000, {{"site", {"berlin", "paris"}}}};
  restriction.answering.Add(1);
  restriction.where.push_back({"age", {}, 18, 30});
  Restrict(context, restriction, &restricted);
  HEFT_RETURN_IF_ERROR(seeds.Write("scores", "restricted", SerializeScores(context, restricted)));
  scores.kind = ScoreKind::kVerification;
  scores.claimed = "ann";
  scores.identities = {"ann"};
  scores.templates = 0;
  scores.replies[0].answers = {{1, 0, 0}, {3, 1, 0}};
  scores.norm_form = NormForm::kNone;
  return seeds.Write("scores", "verification", SerializeScores(context, scores));
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
  return seeds.Write("signed", "trust", trust.Serialize());
}

// What waits, one by one and in bulk; the question to the key owner, the answer, and a registrar's
// word.
absl::Status WriteAdmission(const SeedWriter& seeds, const ckks::SecretKey& secret, Csprng& rng) {
  const ckks::Context& context = *SmallContext();
  HEFT_ASSIGN_OR_RETURN(const auto one, Encrypt(secret, ScoreLimbs(context.params()), rng));
  HEFT_ASSIGN_OR_RETURN(const auto three, Encrypt(secret, TemplateLimbs(context.params()), rng));
  const ckks::Ciphertext proof = ckks::Expand(context, one), fused = ckks::Expand(context, three);
  GalleryBinding binding;
  binding.params_id = context.params().id();
  binding.key_id = secret.key_id();
  binding.gamma = kSmallGamma;
  HEFT_ASSIGN_OR_RETURN(const auto allowed,
                        SerializeAuthorisation({1}, AuthorisedAct::kAdd, "ann"));
  HEFT_RETURN_IF_ERROR(seeds.Write("admission", "authorisation", allowed));

  QuarantinedEnrolment single;
  single.templates = {{"ann", {1}}, {"bob", {2}}};
  single.authorisation = allowed;
  single.fused = {fused, fused};
  single.proofs = std::vector<ckks::Ciphertext>(2 * kNormProofs, proof);
  HEFT_RETURN_IF_ERROR(
      seeds.Write("admission", "enrolment", SerializeQuarantined(SmallRings(), binding, single)));
  QuarantinedEnrolment means = single;
  means.templates[0].parts = {{3}, {4}};
  HEFT_RETURN_IF_ERROR(
      seeds.Write("admission", "means", SerializeQuarantined(SmallRings(), binding, means)));
  means.templates[1].metadata = {{"site", "berlin"}, {"list", "a"}, {"list", "b"}};
  means.templates[1].expires = 1'800'000'000;
  HEFT_RETURN_IF_ERROR(
      seeds.Write("admission", "metadata", SerializeQuarantined(SmallRings(), binding, means)));
  QuarantinedEnrolment bulk;
  bulk.templates = single.templates;
  bulk.norms = std::vector<BatchNorms>(kNormProofs, BatchNorms{proof, 0.3});
  bulk.batch.coordinates = std::vector<ckks::Ciphertext>(kSmallGamma, fused);
  HEFT_RETURN_IF_ERROR(
      seeds.Write("admission", "bulk", SerializeQuarantined(SmallRings(), binding, bulk)));

  AdmissionRequest request;
  request.binding = binding;
  request.gallery = {1};
  request.generation = 3;
  request.enrolments = {
      {{4}, single.templates, {false, true}, allowed, single.proofs, {}},
      {{5}, bulk.templates, {false, false}, {}, {}, bulk.norms},
  };
  HEFT_RETURN_IF_ERROR(
      seeds.Write("admission", "request", SerializeAdmissionRequest(SmallRings(), request)));
  Admission admission;
  admission.binding = binding;
  admission.gallery = {1};
  admission.enrolments = {{{4}, {true, false}}, {{5}, {true, true}}};
  return seeds.Write("admission", "answer", SerializeAdmission(admission));
}

// Two blocks: one is renewed without somebody, one gets what is left of both; and the answer.
absl::Status WriteRenewal(const SeedWriter& seeds, const ckks::SecretKey& secret, Csprng& rng) {
  const ckks::Context& context = *SmallContext();
  const size_t limbs = MatchLimbs(context.params());
  RenewalRequest request;
  request.binding.params_id = context.params().id();
  request.binding.key_id = secret.key_id();
  request.binding.gamma = kSmallGamma;
  request.gallery = {1};
  request.generation = 3;
  request.exchange = {2};
  request.sources.resize(2);
  for (PaddedBlock& source : request.sources) {
    source.ciphertexts.resize(kSmallGamma);
    for (PaddedBlock::Parts& c : source.ciphertexts) {
      for (ring::RnsPoly& part : c.part) {
        part = ring::RnsPoly(context.n(), limbs + 1);
        for (size_t l = 0; l < limbs; ++l) {
          ckks::ExpandUniform(context, part.limb(l), rng.NewSeed(), 0, l);
        }
        ckks::ExpandUniform(context, part.limb(limbs), rng.NewSeed(), 0, context.special_index());
      }
    }
  }
  request.targets = {{{0, 0, 0}, {0, 3, 3}, {0, 15, 15}}, {{1, 4, 0}, {0, 1, 7}, {1, 7, 9}}, {}};
  HEFT_RETURN_IF_ERROR(
      seeds.Write("renewal", "request", SerializeRenewalRequest(SmallInstance(), request)));
  Renewal renewal;
  renewal.binding = request.binding;
  renewal.gallery = request.gallery;
  renewal.exchange = request.exchange;
  HEFT_ASSIGN_OR_RETURN(const auto fresh, Encrypt(secret, limbs, rng));
  renewal.targets.assign(2, std::vector<ckks::SeededCiphertext>(kSmallGamma, fresh));
  return seeds.Write("renewal", "answer", SerializeRenewal(SmallInstance(), renewal));
}

absl::Status WriteServerFiles(const SeedWriter& seeds) {
  const std::vector<uint8_t> key(sizeof(Seed), 7);
  HEFT_RETURN_IF_ERROR(seeds.Write("server_files", "stand-in", SealEnvelope("STND", 1, key)));
  const std::vector<TakenRow> rows = {{{1}, 0, 2'000'000'000}, {{2}, kAllRows, 2'000'000'060}};
  return seeds.Write("server_files", "requests", SerializeRequestLog(rows));
}

// A store's file, with values of all lengths and pages that are free.
absl::Status WriteStore(const SeedWriter& seeds) {
  const testing::TemporaryFolder folder;
  HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(folder / "store", StoreMode::kCreate));
  HEFT_ASSIGN_OR_RETURN(const auto lock, store->Lock(absl::Seconds(1)));
  for (const size_t size : {20, 200, 2000}) {
    HEFT_ASSIGN_OR_RETURN(const auto writer, store->Write(*lock));
    for (uint8_t key = 0; key < 6; ++key) {
      HEFT_RETURN_IF_ERROR(writer->Put(key % 2 == 0 ? Table::kNames : Table::kBlocks, {&key, 1},
                                       std::vector<uint8_t>(size * (1 + key), key)));
    }
    HEFT_RETURN_IF_ERROR(writer->Commit());
  }
  HEFT_ASSIGN_OR_RETURN(const auto file, ReadFile(folder / "store/store.mdb"));
  return seeds.Write("store", "store.mdb", file);
}

absl::Status Write(const std::string& root) {
  const SeedWriter seeds(root);
  TestCsprng rng(Seed{9});
  HEFT_ASSIGN_OR_RETURN(const auto secret, ckks::SecretKey::Generate(*SmallContext(), rng));
  HEFT_RETURN_IF_ERROR(WriteFeatures(seeds));
  HEFT_RETURN_IF_ERROR(WriteLearning(seeds));
  HEFT_RETURN_IF_ERROR(WriteKeys(seeds, secret, rng));
  HEFT_RETURN_IF_ERROR(WriteFullKeys(seeds, secret, rng));
  HEFT_RETURN_IF_ERROR(WriteExpandedKeys(seeds, secret, rng));
  HEFT_RETURN_IF_ERROR(WriteSealObjects(seeds));
  HEFT_RETURN_IF_ERROR(WriteSigned(seeds));
  HEFT_RETURN_IF_ERROR(WriteSamples(seeds, secret, rng));
  HEFT_RETURN_IF_ERROR(WriteGallery(seeds, secret));
  HEFT_RETURN_IF_ERROR(WriteRecords(seeds, secret));
  HEFT_RETURN_IF_ERROR(WriteAdmission(seeds, secret, rng));
  HEFT_RETURN_IF_ERROR(WriteRenewal(seeds, secret, rng));
  HEFT_RETURN_IF_ERROR(WriteServerFiles(seeds));
  HEFT_RETURN_IF_ERROR(WriteStore(seeds));
  for (const TextSeed& seed : ServiceSeeds()) {
    HEFT_RETURN_IF_ERROR(seeds.Write(seed.target, seed.name, seed.text));
  }
  return WriteScores(seeds, secret, rng);
}

}  // namespace
}  // namespace heft::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_seeds NEW_FOLDER\n";
    return 2;
  }
  const absl::Status status = heft::fuzz::Write(argv[1]);
  if (!status.ok()) std::cerr << "make_seeds: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
