// SPDX-License-Identifier: Apache-2.0
// Writes the golden files (tests/golden/README.md) into a folder that does not exist yet:
//
//   make_golden NEW_FOLDER
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>

#include "base/envelope.h"
#include "base/files.h"
#include "base/signed_file.h"
#include "base/testing.h"
#include "ckks/serialization.h"
#include "fusion/key_files.h"
#include "fusion/owner/keygen.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/rekey.h"
#include "fusion/testing.h"
#include "gallery/admission.h"
#include "gallery/journal_head.h"
#include "heft/audit.h"
#include "heft/train.h"
#include "matcher/enrol_directly.h"
#include "matcher/server_impl.h"
#include "owner/journal_keys.h"
#include "owner/key_owner_impl.h"
#include "owner/query_journal.h"
#include "seal/owner/secret_key.h"
#include "tests/golden.h"
#include "tests/golden_records.h"

namespace heft::golden {
namespace {

absl::StatusOr<SampleSet> Samples(const Instance& instance, const Model& model,
                                  const ckks::SecretKey& secret,
                                  const std::vector<size_t>& people) {
  std::vector<SampleReader> files;
  for (size_t m = 0; m < model.modalities.size(); ++m) {
    std::vector<std::vector<double>> rows;
    std::vector<std::string> labels;
    for (size_t p : people) {
      rows.push_back(Vector(m, p));
      labels.push_back(kIdentities[p]);
    }
    HEFT_ASSIGN_OR_RETURN(auto bytes,
                          EncryptSamplesSymmetric(instance, model, m, secret, rows, labels));
    HEFT_ASSIGN_OR_RETURN(auto file,
                          SampleReader::Parse(instance.context, std::move(bytes), "samples"));
    files.push_back(std::move(file));
  }
  return SampleSet::Create(instance, model, std::move(files));
}

absl::Status WriteKeys(const std::string& folder, const Instance& instance,
                       const ckks::SecretKey& secret, Csprng& rng) {
  const ckks::Context& context = *instance.context;
  HEFT_ASSIGN_OR_RETURN(const auto clear, SerializeSecretKey(context, secret, {}));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder + "/secret.key", clear));
  HEFT_ASSIGN_OR_RETURN(const auto sealed,
                        SerializeSecretKey(context, secret, std::string(kPassphrase)));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder + "/sealed.key", sealed));
  HEFT_RETURN_IF_ERROR(
      WriteFileAtomic(folder + "/encryption.key",
                      SerializeEncryptionKey(context, ckks::MakePublicKey(context, secret, rng))));
  // Only the relinearisation key, of two limbs, which is small.
  EvaluationKeysWriter writer(context, secret.key_id(), 1);
  writer.Add(1, ckks::MakeRelinearisationKey(context, secret, 2, rng));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder + "/evaluation.keys", writer.Finish()));
  // Both in version 2, as for keys made elsewhere.
  const auto full =
      seal::ToPublicKey(secret.key_id(), seal::MakeSeededPublicKey(context, secret, rng));
  HEFT_RETURN_IF_ERROR(
      WriteFileAtomic(folder + "/encryption-2.key", SerializeEncryptionKey(context, full)));
  const auto relin = seal::CutKey(seal::MakeSeededRelinearisationKey(context, secret, rng), 2);
  return WriteFileAtomic(folder + "/evaluation-2.keys",
                         SerializeFullEvaluationKeys(context, secret.key_id(), {{1, relin}}));
}

// Another key, and the files that move a gallery to it.
absl::Status WriteRenewed(const std::string& folder, const Instance& instance,
                          const ckks::SecretKey& secret) {
  const ckks::Context& context = *instance.context;
  const std::string renewed = folder + "/renewed";
  TestCsprng rng(Seed{8});
  HEFT_ASSIGN_OR_RETURN(const auto next, ckks::SecretKey::Generate(context, rng));
  HEFT_RETURN_IF_ERROR(MakeDirectories(renewed));
  HEFT_ASSIGN_OR_RETURN(const auto clear, SerializeSecretKey(context, next, {}));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(renewed + "/secret.key", clear));
  const auto bytes = SerializeRekeyingKey(
      context, secret.key_id(), next.key_id(),
      ckks::MakeRekeyingKey(context, secret, next, MatchLimbs(context.params()), rng));
  return WriteFileAtomic(renewed + "/rekeying.key", bytes);
}

// A journal with a decision that accepts one identity and the scores of two, and its anchor.
absl::Status WriteJournal(const std::string& folder, const Instance& instance, const Model& model,
                          const ckks::SecretKey& secret) {
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  setenv("HEFT_STATE_DIR", folder.c_str(), 1);
  HEFT_ASSIGN_OR_RETURN(
      ckks::SecretKey copy,
      ckks::SecretKey::FromCoefficients(*instance.context, secret.key_id(), secret.coefficients()));
  HEFT_ASSIGN_OR_RETURN(JournalKeys keys, JournalKeys::Derive(SecretKeys(std::move(copy))));
  const auto journal =
      QueryJournal::OnDisk(folder + "/secret.key.journal", std::move(keys),
                           {.clock = [] { return kJournalTime; }, .entries_per_file = 100});
  HEFT_RETURN_IF_ERROR(journal->Start("golden"));
  Opening opening;
  opening.model = model.Id();
  opening.defaults = {.scores = kBudget};
  opening.verification = true;
  opening.claimed = kClaimed;
  opening.decision = true;
  opening.replies = {Hash{1}};
  HEFT_RETURN_IF_ERROR(journal->Charge(opening));
  HEFT_RETURN_IF_ERROR(journal->PublishDecision(opening, kClaimed, /*accepted=*/true));
  opening.verification = opening.decision = false;
  opening.slots = 2;
  opening.client = {7};
  opening.replies = {Hash{2}};
  HEFT_RETURN_IF_ERROR(journal->Charge(opening));
  const std::vector<std::string> ranked = {kIdentities[0], kIdentities[1]};
  HEFT_RETURN_IF_ERROR(journal->Publish(opening, ranked).status());
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".lock") std::filesystem::remove(file.path());
  }
  return absl::OkStatus();
}

// A server's keys, a reply that it signed, and the trust file, made from other files in `folder`.
absl::Status WriteSigned(const std::string& folder, const Instance& instance, const Model& model) {
  const std::string out = folder + "/signed", copy = folder + "/copy";
  HEFT_RETURN_IF_ERROR(MakeDirectories(out));
  HEFT_ASSIGN_OR_RETURN(const auto bytes, ReadFile(folder + "/renewed/secret.key"));
  HEFT_ASSIGN_OR_RETURN(const auto secret,
                        ParseSecretKey(*instance.context, bytes, {}, "secret.key"));
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(
      const auto server,
      Server::Impl::Create(model,
                           testing::MakeKeys(*instance.context, instance.plan.keys, secret, rng)));
  HEFT_ASSIGN_OR_RETURN(const SampleSet more, Samples(instance, model, secret, {1}));
  HEFT_RETURN_IF_ERROR(testing::EnrolDirectly(*server, copy, more).status());
  HEFT_ASSIGN_OR_RETURN(const SigningKey key, GallerySigner(copy));
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(copy));
  for (const char* name : {"server.key", "server.pub"}) {
    std::filesystem::copy(copy + "/" + name, out + "/" + name);
  }
  std::filesystem::remove_all(copy);
  HEFT_ASSIGN_OR_RETURN(auto sample, ReadFile(folder + "/face.ct"));
  HEFT_ASSIGN_OR_RETURN(const auto reply, ReadFile(folder + "/identification.ct"));
  const std::vector<SampleFile> files = {{std::move(sample), "face.ct"}};
  HEFT_ASSIGN_OR_RETURN(const Request request, ReadRequest(files, nullptr, {}));
  HEFT_ASSIGN_OR_RETURN(const auto signed_reply,
                        SignReply(key, gallery, request, kRow, {}, reply, /*life=*/0));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(out + "/identification.ct", signed_reply));
  Trust trust;
  HEFT_RETURN_IF_ERROR(trust.Add(Role::kServer, "server", key.public_key()));
  HEFT_RETURN_IF_ERROR(trust.Add(Role::kClient, "camera", {1}));
  HEFT_RETURN_IF_ERROR(trust.Revoke({1}));
  trust.Pin(gallery.id(), gallery.generation());
  return trust.Save(out + "/trust.heft");
}

// Files that check a server: a gallery's state signed by the key owner, a reply that commits to its
// seed, the seed, and canaries.
absl::Status WriteAudited(const std::string& folder, const Instance& instance, const Model& model,
                          const ckks::SecretKey& secret) {
  const std::string out = folder + "/audited", copy = folder + "/copy";
  HEFT_RETURN_IF_ERROR(MakeDirectories(out));
  std::filesystem::copy(folder + "/gallery", copy);
  HEFT_RETURN_IF_ERROR(MakeAuditKey(copy));
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(
      const auto server,
      Server::Impl::Create(model,
                           testing::MakeKeys(*instance.context, instance.plan.keys, secret, rng)));
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl inside, server->OpenGallery(copy, false));
  HEFT_ASSIGN_OR_RETURN(const SampleSet probe, Samples(instance, model, secret, {0}));
  HEFT_ASSIGN_OR_RETURN(const auto scores, server->Verify(inside, probe, kClaimed, {}));
  HEFT_ASSIGN_OR_RETURN(const SigningKey key, GallerySigner(copy));
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(copy));
  HEFT_ASSIGN_OR_RETURN(
      const auto reply,
      SignReply(key, gallery, {}, 0, {}, SerializeScores(*instance.context, scores), /*life=*/0));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(out + "/verification.ct", reply));
  HEFT_ASSIGN_OR_RETURN(const auto seed, RevealSeed(copy, key.public_key(), reply, "reply"));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(out + "/verification.seed", seed));
  HEFT_ASSIGN_OR_RETURN(
      ckks::SecretKey own,
      ckks::SecretKey::FromCoefficients(*instance.context, secret.key_id(), secret.coefficients()));
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner,
                        KeyOwner::Impl::Own(model, SecretKeys(std::move(own))));
  HEFT_ASSIGN_OR_RETURN(AdmissionRequest pending, server->Pending(inside));
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, owner.Signer());
  HEFT_ASSIGN_OR_RETURN(pending.head,
                        SignHead(signer, {secret.key_id(), 5, Digest{9}, kJournalTime}));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(out + "/journal.head", ByteSpan(pending.head)));
  const auto request = SerializeAdmissionRequest(server->rings(), pending);
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(out + "/pending.ct", request));
  HEFT_ASSIGN_OR_RETURN(const Admissions activated, owner.Approve(request, "pending"));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(out + "/state.heft", activated.signed_admission));
  HEFT_ASSIGN_OR_RETURN(const CanarySet canaries, owner.MakeCanaries(1));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(out + "/canaries.heft", canaries.file));
  std::filesystem::copy(copy + "/audit.key", out + "/audit.key");
  std::filesystem::remove_all(copy);
  return absl::OkStatus();
}

// Joined: one file with the seeded samples of two files of one modality, with unchanged records.
absl::StatusOr<SampleReader> Joined(const std::shared_ptr<const ckks::Context>& context,
                                    std::span<const std::vector<uint8_t>> files) {
  std::optional<SampleWriter> writer;
  const size_t record = ckks::SeededCiphertextSize(*context, context->params().limbs());
  for (const std::vector<uint8_t>& bytes : files) {
    HEFT_ASSIGN_OR_RETURN(const SampleReader file, SampleReader::Parse(context, bytes, "samples"));
    if (!writer) {
      const std::vector<std::string> labels(files.size(), file.labels()[0]);
      writer.emplace(*context, file.header(), labels);
    }
    HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, "CTXT", 1, "samples"));
    ByteReader reader(payload.last(record), "samples");
    writer->Add(ckks::ReadSeededCiphertext(reader, *context));
  }
  return SampleReader::Parse(context, writer->Finish(), "samples");
}

// AnnsSamples: person 0's samples from face.ct and means/voice.ct, which it writes, and person 2's.
absl::StatusOr<SampleSet> AnnsSamples(const std::string& folder, const Instance& instance,
                                      const Model& model, const ckks::SecretKey& secret) {
  std::vector<SampleReader> files;
  for (size_t m = 0; m < model.modalities.size(); ++m) {
    std::vector<std::vector<uint8_t>> samples;
    for (const size_t person : {0, 2}) {
      const std::vector<std::vector<double>> row = {Vector(m, person)};
      const std::vector<std::string> label = {kIdentities[person]};
      HEFT_ASSIGN_OR_RETURN(samples.emplace_back(),
                            EncryptSamplesSymmetric(instance, model, m, secret, row, label));
    }
    if (m == 0) {
      HEFT_ASSIGN_OR_RETURN(samples[0], ReadFile(folder + "/face.ct"));
    } else {
      HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder + "/means/voice.ct", samples[0]));
    }
    HEFT_ASSIGN_OR_RETURN(SampleReader joined, Joined(instance.context, samples));
    files.push_back(std::move(joined));
  }
  return SampleSet::Create(instance, model, std::move(files));
}

// A pending template that is a mean.
absl::Status WriteMeans(const std::string& folder, const Instance& instance, const Model& model,
                        const ckks::SecretKey& secret) {
  const std::string out = folder + "/means", copy = folder + "/copy";
  HEFT_RETURN_IF_ERROR(MakeDirectories(out));
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(
      const auto server,
      Server::Impl::Create(model,
                           testing::MakeKeys(*instance.context, instance.plan.keys, secret, rng)));
  HEFT_ASSIGN_OR_RETURN(const SampleSet bob, Samples(instance, model, secret, {1}));
  HEFT_RETURN_IF_ERROR(testing::EnrolDirectly(*server, copy, bob).status());
  HEFT_ASSIGN_OR_RETURN(const SampleSet ann, AnnsSamples(folder, instance, model, secret));
  EnrolOptions options;
  options.average = true;
  HEFT_RETURN_IF_ERROR(server->EnrolPending(copy, ann, options).status());
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl gallery, server->OpenGallery(copy, false));
  HEFT_ASSIGN_OR_RETURN(const auto waiting, gallery.PendingEnrolments());
  HEFT_ASSIGN_OR_RETURN(const ByteSpan enrolment, gallery.PendingFile(waiting.at(0).digest));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(out + "/waiting.heft", enrolment));
  HEFT_ASSIGN_OR_RETURN(
      ProvenEnrolment kept,
      ParseProvenEnrolment(server->rings(), server->binding(), enrolment, "waiting.heft"));
  kept.templates[0].metadata = kMetadata;
  kept.templates[0].expires = kExpires;
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(
      out + "/metadata.heft", SerializeProvenEnrolment(server->rings(), server->binding(), kept)));
  std::filesystem::remove_all(copy);
  return absl::OkStatus();
}

// The records of a gallery's store.
absl::Status WriteRecords(const std::string& folder) {
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  for (const auto& [name, bytes] : GoldenRecords()) {
    HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder + "/" + name, bytes));
  }
  return absl::OkStatus();
}

absl::Status WriteBulk(const std::string& folder, const Approximation& approximation,
                       const ckks::SecretKey& secret) {
  Model model = BulkModel();
  model.approximation = approximation;
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  HEFT_ASSIGN_OR_RETURN(const auto samples,
                        EncryptSamplesSymmetric(instance, model, 0, secret, kBulkRows, kIdentities,
                                                SampleEncoding::kBulk));
  return WriteFileAtomic(folder + "/finger-bulk.ct", samples);
}

// Keys of two rings and a short reply.
absl::Status WriteThin(const std::string& folder, const Model& model) {
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder + "/model.heft", model.Serialize()));
  HEFT_ASSIGN_OR_RETURN(const Rings rings, MakeRings(model));
  TestCsprng rng(Seed{9});
  HEFT_ASSIGN_OR_RETURN(const SecretKeys secrets, GenerateSecretKeys(rings, rng));
  HEFT_ASSIGN_OR_RETURN(const auto clear, SerializeSecretKeys(rings, secrets, {}));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder + "/secret.key", clear));
  HEFT_ASSIGN_OR_RETURN(const auto keys, MakeEvaluationKeys(rings.matching, secrets.matching()));
  HEFT_ASSIGN_OR_RETURN(const auto enrolment_keys, MakeEnrolmentKeys(rings, secrets));
  HEFT_ASSIGN_OR_RETURN(const auto server,
                        Server::Impl::Create(model, keys, "keys", enrolment_keys, "keys"));
  HEFT_ASSIGN_OR_RETURN(const SampleSet enrolled,
                        Samples(rings.enrolment, model, secrets.enrolment, {0, 1, 2}));
  const std::string gallery_folder = folder + "/gallery";
  HEFT_RETURN_IF_ERROR(testing::EnrolDirectly(*server, gallery_folder, enrolled).status());
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl gallery, server->OpenGallery(gallery_folder, false));
  HEFT_ASSIGN_OR_RETURN(const SampleSet probe,
                        Samples(rings.matching, model, secrets.matching(), {0}));
  HEFT_ASSIGN_OR_RETURN(auto ranked, server->Identify(gallery, probe, {}));
  std::filesystem::remove_all(gallery_folder);
  const ckks::Context& context = *rings.matching.context;
  HEFT_RETURN_IF_ERROR(
      WriteFileAtomic(folder + "/identification.ct", SerializeScores(context, ranked)));
  Restrict(context, GoldenRestriction(), &ranked);
  return WriteFileAtomic(folder + "/restricted.ct", SerializeScores(context, ranked));
}

absl::Status Write(const std::string& folder) {
  if (FileExists(folder)) return absl::AlreadyExistsError(folder + " exists");
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  Model model = ModelWithoutApproximation();
  HEFT_ASSIGN_OR_RETURN(model.approximation, FitMinimax(3, Interval{0.2, 2.2}));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder + "/model.heft", model.Serialize()));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder + "/model-2.heft", DecidedModel(model).Serialize()));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  TestCsprng rng(Seed{7});
  HEFT_ASSIGN_OR_RETURN(const auto secret, ckks::SecretKey::Generate(*instance.context, rng));
  HEFT_RETURN_IF_ERROR(WriteKeys(folder, instance, secret, rng));
  const std::vector<std::vector<double>> row = {Vector(0, 0)};
  const std::vector<std::string> label = {kIdentities[0]};
  HEFT_ASSIGN_OR_RETURN(const auto sample,
                        EncryptSamplesSymmetric(instance, model, 0, secret, row, label));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder + "/face.ct", sample));
  HEFT_RETURN_IF_ERROR(WriteBulk(folder, model.approximation, secret));
  HEFT_RETURN_IF_ERROR(WriteRecords(folder + "/records"));

  HEFT_ASSIGN_OR_RETURN(
      const auto server,
      Server::Impl::Create(model,
                           testing::MakeKeys(*instance.context, instance.plan.keys, secret, rng)));
  HEFT_ASSIGN_OR_RETURN(const SampleSet enrolled, Samples(instance, model, secret, {0, 1, 2}));
  HEFT_RETURN_IF_ERROR(testing::EnrolDirectly(*server, folder + "/gallery", enrolled).status());
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl gallery,
                        server->OpenGallery(folder + "/gallery", false));
  HEFT_ASSIGN_OR_RETURN(const SampleSet probe, Samples(instance, model, secret, {0}));
  HEFT_ASSIGN_OR_RETURN(const auto ranked, server->Identify(gallery, probe, {}));
  HEFT_RETURN_IF_ERROR(
      WriteFileAtomic(folder + "/identification.ct", SerializeScores(*instance.context, ranked)));
  HEFT_ASSIGN_OR_RETURN(const auto claim, server->Verify(gallery, probe, kClaimed, {}));
  HEFT_RETURN_IF_ERROR(
      WriteFileAtomic(folder + "/verification.ct", SerializeScores(*instance.context, claim)));
  Model thin = model;
  thin.profile = "standard";
  HEFT_RETURN_IF_ERROR(WriteThin(folder + "/standard", thin));
  HEFT_RETURN_IF_ERROR(WriteJournal(folder + "/journal", instance, model, secret));
  HEFT_RETURN_IF_ERROR(WriteAudited(folder, instance, model, secret));
  std::filesystem::remove_all(folder + "/gallery");  // for the others
  HEFT_RETURN_IF_ERROR(WriteMeans(folder, instance, DecidedModel(model), secret));
  HEFT_RETURN_IF_ERROR(WriteRenewed(folder, instance, secret));
  return WriteSigned(folder, instance, model);
}

}  // namespace
}  // namespace heft::golden

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_golden NEW_FOLDER\n";
    return 2;
  }
  const absl::Status status = heft::golden::Write(argv[1]);
  if (!status.ok()) std::cerr << "make_golden: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
