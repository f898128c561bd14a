// SPDX-License-Identifier: Apache-2.0
// Of what a gallery keeps, and of what its server and the key owner say to each other about it.
#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/testing.h"
#include "ckks/serialization.h"
#include "fusion/matching.h"
#include "fuzz/fuzz.h"
#include "fuzz/seeds.h"
#include "gallery/admission.h"
#include "gallery/authorisation.h"
#include "gallery/journal_head.h"
#include "gallery/records.h"
#include "gallery/renewal.h"
#include "heft/server.h"

namespace heft::fuzz {
namespace {

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
  info.error.added = 0.5;
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
  HEFT_RETURN_IF_ERROR(
      write("waiting", 'w', SerializePending({{"ann", "bob"}, {{1}, {2}}, {3}, 100})));
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
  const JournalHead seen = {secret.key_id(), 7, {1}, 2'000'000'000};
  HEFT_ASSIGN_OR_RETURN(const SigningKey owner, SigningKey::Generate());
  HEFT_ASSIGN_OR_RETURN(const auto signed_head, SignHead(owner, seen));
  HEFT_RETURN_IF_ERROR(write("kept-head", 'o', SerializeKeptHead({signed_head, seen.Serialize()})));
  const std::vector<uint32_t> residues = {1, 2, 3, 4};
  BlockHeader header;
  header.gamma = kSmallGamma;
  header.hash = ResiduesHash(residues);
  return write("block", 'b', SerializeBlock(header, residues));
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

  ProvenEnrolment single;
  single.templates = {{"ann", {1}}, {"bob", {2}}};
  single.authorisation = allowed;
  single.fused = {fused, fused};
  single.proofs = std::vector<ckks::Ciphertext>(2 * kNormProofs, proof);
  HEFT_RETURN_IF_ERROR(seeds.Write("admission", "enrolment",
                                   SerializeProvenEnrolment(SmallRings(), binding, single)));
  ProvenEnrolment means = single;
  means.templates[0].parts = {{3}, {4}};
  HEFT_RETURN_IF_ERROR(
      seeds.Write("admission", "means", SerializeProvenEnrolment(SmallRings(), binding, means)));
  means.templates[1].metadata = {{"site", "berlin"}, {"list", "a"}, {"list", "b"}};
  means.templates[1].expires = 1'800'000'000;
  HEFT_RETURN_IF_ERROR(
      seeds.Write("admission", "metadata", SerializeProvenEnrolment(SmallRings(), binding, means)));
  ProvenEnrolment bulk;
  bulk.templates = single.templates;
  bulk.norms = std::vector<BatchNorms>(kNormProofs, BatchNorms{proof, 0.3});
  bulk.batch.coordinates = std::vector<ckks::Ciphertext>(kSmallGamma, fused);
  HEFT_RETURN_IF_ERROR(
      seeds.Write("admission", "bulk", SerializeProvenEnrolment(SmallRings(), binding, bulk)));

  AdmissionRequest request;
  request.binding = binding;
  request.gallery = {1};
  request.generation = 3;
  request.more = 2;
  request.head = JournalHead{secret.key_id(), 7, {1}, 2'000'000'000}.Serialize();
  HEFT_RETURN_IF_ERROR(seeds.Write("admission", "head", request.head));
  request.enrolments = {
      {{4}, single.templates, {false, true}, {1, 0}, {7}, allowed, single.proofs, {}},
      {{5}, bulk.templates, {false, false}, {1, 0}, {}, {}, {}, bulk.norms},
  };
  HEFT_RETURN_IF_ERROR(
      seeds.Write("admission", "request", SerializeAdmissionRequest(SmallRings(), request)));
  Admission admission;
  admission.binding = binding;
  admission.gallery = {1};
  admission.head = request.head;
  admission.enrolments = {{{4}, {true, false}}, {{5}, {true, true}}};
  return seeds.Write("admission", "answer", SerializeAdmission(admission));
}

// Two blocks: one is renewed without one of its people, one gets the rest of both. And the answer.
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
  request.head = JournalHead{secret.key_id(), 7, {1}, 2'000'000'000}.Serialize();
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
  return seeds.Write("server_files", "stand-in", SealEnvelope("STND", 1, key));
}

// Masks over a store's database: none, and single bits.
absl::Status WriteStore(const SeedWriter& seeds) {
  std::vector<uint8_t> mask(1 << 16);
  HEFT_RETURN_IF_ERROR(seeds.Write("store", "sound", mask));
  for (const size_t at : {18, 4096, 8196, 12'300, 40'000}) {
    mask[at] = 1;
    HEFT_RETURN_IF_ERROR(seeds.Write("store", absl::StrCat("flipped-", at), mask));
    mask[at] = 0;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteGallerySeeds(const SeedWriter& seeds, const ckks::SecretKey& secret,
                               Csprng& rng) {
  HEFT_RETURN_IF_ERROR(WriteRecords(seeds, secret));
  HEFT_RETURN_IF_ERROR(WriteAdmission(seeds, secret, rng));
  HEFT_RETURN_IF_ERROR(WriteRenewal(seeds, secret, rng));
  HEFT_RETURN_IF_ERROR(WriteServerFiles(seeds));
  return WriteStore(seeds);
}

}  // namespace heft::fuzz
