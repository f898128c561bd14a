// SPDX-License-Identifier: Apache-2.0
// Server::Impl: the server on parsed objects. The parts for enrolment and verification, and those
// for identification, are made at their first use.
#ifndef HEFT_MATCHER_SERVER_IMPL_H_
#define HEFT_MATCHER_SERVER_IMPL_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/reply_seed.h"
#include "base/status.h"
#include "fusion/fuser.h"
#include "fusion/probe.h"
#include "fusion/samples.h"
#include "gallery/admission.h"
#include "gallery/gallery_impl.h"
#include "gallery/journal_head.h"
#include "gallery/scores.h"
#include "heft/server.h"

namespace heft {

class GalleryChange;  // gallery/change.h

// Called with (done, total); returns false to stop, which ends the call with kCancelled.
using ProgressFunction = std::function<bool(size_t, size_t)>;

// The encrypted samples of one probe or enrolment: one file per modality, in any order. A modality
// without a file counts as missing.
class SampleSet {
 public:
  // kInvalidArgument for a modality twice or unknown, or none; kFailedPrecondition for files that
  // do not belong to this model or to each other (other dimension, parameters or key).
  static absl::StatusOr<SampleSet> Create(const Instance& instance, const Model& model,
                                          std::vector<SampleReader> files);

  const ckks::KeyId& key_id() const { return key_id_; }
  const ckks::ParamsId& params_id() const { return params_id_; }
  // By the model's order of modalities; nullptr where missing.
  const SampleReader* modality(size_t index) const { return by_modality_[index]; }
  size_t modalities() const { return by_modality_.size(); }
  SampleEncoding encoding() const { return encoding_; }
  // Whether the samples are encrypted for bulk enrolment. They then have no other use.
  bool bulk() const { return encoding_ == SampleEncoding::kBulk; }
  // Fused by the client: the file is at the first modality.
  bool fused() const { return encoding_ == SampleEncoding::kFused; }
  // Projected by the client, as a whole or by modality: any vector fits any set of modalities.
  bool projected() const { return fused() || encoding_ == SampleEncoding::kPartial; }
  SampleUse use() const { return use_; }  // of projected ones
  // The modalities that the samples declare: bit i for Model::modalities[i].
  uint32_t present() const;

 private:
  std::vector<std::unique_ptr<SampleReader>> files_;
  std::vector<const SampleReader*> by_modality_;
  ckks::KeyId key_id_{};
  ckks::ParamsId params_id_{};
  SampleEncoding encoding_ = SampleEncoding::kCompact;
  SampleUse use_ = SampleUse::kEnrolment;
};

// SampleRows: one row per modality, -1 if it is missing.
using SampleRows = std::vector<int64_t>;
struct Combination;  // matcher/combinations.h

// ProbeInputs: the input of a fuser: a ciphertext per modality, empty if it is missing, each the
// sum of so many samples.
struct ProbeInputs {
  std::vector<ckks::Ciphertext> modalities;
  size_t samples = 1;
};

// Fused templates in bulk with the identity of each.
struct BatchEnrolment {
  std::vector<std::string> identities;
  std::vector<SampleDigest> samples;
  TemplateBatch batch;
};

// Draw: the source of one reply's random choices, and the reply's statement of it.
struct Draw {
  ReplyOrigin origin;
  std::optional<ReplySeed> seed;   // none: the operating system's randomness
  uint64_t time = 0;               // Unix seconds, for the expiry of templates
  std::vector<uint8_t> head = {};  // EncryptedScores::head

  // From: sets the origin to this gallery.
  void From(const Gallery::Impl& gallery);
  // The secret factor of the norm's proof.
  std::optional<double> NormFactor() const;
};

class Server::Impl {
 public:
  static absl::StatusOr<std::unique_ptr<Impl>> Create(const Model& model,
                                                      std::span<const uint8_t> evaluation_keys,
                                                      std::string_view what,
                                                      std::span<const uint8_t> enrolment_keys = {},
                                                      std::string_view enrolment_what = {});
  static absl::StatusOr<std::unique_ptr<Impl>> CreateFrom(const Model& model,
                                                          const KeyFile& evaluation,
                                                          const KeyFile& enrolment);
  static absl::StatusOr<std::unique_ptr<Impl>> Create(const Model& model, RingKeys keys);

  const Rings& rings() const { return rings_; }
  // For gallery and replies.
  const Instance& instance() const { return rings_.matching; }
  const Model& model() const { return model_; }
  const RingKeys& ring_keys() const { return *keys_; }
  // For gallery and replies; and for the ring of enrolment.
  const ckks::EvaluationKeys& keys() const { return keys_->matching; }
  const ckks::EvaluationKeys& enrolment_keys() const {
    return rings_.thin() ? keys_->enrolment : keys_->matching;
  }
  const GalleryBinding& binding() const { return binding_; }
  // kFailedPrecondition if the enrolment keys are missing.
  absl::StatusOr<const Fuser*> EnrolmentFuser(size_t samples = 1) const;

  // Parses the files of one probe or enrolment.
  absl::StatusOr<SampleSet> Read(std::vector<SampleFile> files) const;

  // The fused templates of a sample set with their identities. kInvalidArgument if labels are
  // missing or row counts differ.
  absl::StatusOr<std::vector<Enrolment>> FuseAll(const SampleSet& samples,
                                                 const EnrolOptions& options,
                                                 const ProgressFunction& progress = {}) const;
  // The same for samples encrypted for bulk enrolment.
  absl::StatusOr<BatchEnrolment> FuseBulk(const SampleSet& samples, const EnrolOptions& options,
                                          const ProgressFunction& progress = {}) const;
  // The template of one combination of samples, or of sums of `count`, as AddToBlock takes it.
  // Pointers as in Fuser::Project.
  absl::StatusOr<ckks::Ciphertext> FuseTemplate(const SampleSet& samples,
                                                std::span<const ckks::Ciphertext* const> modalities,
                                                size_t count = 1) const;
  // Fuses the requested row of each file, or their mean, for verification: the input of
  // PrepareMaskedProbe, with its norm proof.
  absl::StatusOr<ProvenProbe> FuseProbe(const SampleSet& samples, const ProbeOptions& options,
                                        std::optional<double> sigma = {}) const;

  // Opens the gallery, or starts one, and checks that it is this model's and this key's.
  absl::StatusOr<Gallery::Impl> OpenGallery(const std::string& directory, bool create) const;

  // Server::Enrol, Pending and Activate on parsed objects (server_admission.cc).
  absl::StatusOr<EnrolResult> EnrolPending(const std::string& directory, const SampleSet& samples,
                                           const EnrolOptions& options,
                                           const ProgressFunction& progress = {},
                                           const Digest& files = {},
                                           const ClientLimits& limits = {}) const;
  // The stored answer to an enrolment with this idempotency key, if any.
  absl::StatusOr<std::optional<EnrolResult>> EnrolledBefore(const std::string& directory,
                                                            const EnrolOptions& options,
                                                            const Digest& files) const;
  absl::StatusOr<AdmissionRequest> Pending(const Gallery::Impl& gallery) const;
  absl::StatusOr<ActivateResult> Activate(const std::string& directory, const Admission& admission,
                                          const Trust* trust,
                                          const ProgressFunction& progress = {}) const;

  // 1:N: scores against every template of the gallery.
  absl::StatusOr<EncryptedScores> Identify(const Gallery::Impl& gallery, const SampleSet& samples,
                                           const ProbeOptions& options,
                                           const ProgressFunction& progress = {}) const;
  // Fused: a probe after its match with one gallery, to reuse for the next: the draw and its
  // results.
  struct Fused {
    std::string directory;  // of the galleries whose draw it is
    std::optional<Draw> draw;
    TiledCiphertexts tiles;  // none: not fused yet
    ckks::Ciphertext norm;
  };
  // Identify in one gallery after the other. Galleries of one folder share a draw, and so the fused
  // probe.
  absl::StatusOr<EncryptedScores> IdentifyNext(const Gallery::Impl& gallery,
                                               const SampleSet& samples,
                                               const ProbeOptions& options, Fused* fused,
                                               const ProgressFunction& progress = {}) const;
  // The same for every sample of the files, in passes of up to 64 probes that each read the gallery
  // once. `use` takes the replies in the order of the rows; its error ends the call.
  absl::Status IdentifyAll(
      const Gallery::Impl& gallery, const SampleSet& samples, const ProbeOptions& options,
      const std::function<absl::Status(size_t row, const EncryptedScores&)>& use,
      const ProgressFunction& progress = {}) const;
  // Asked: one of several probes, of any callers.
  struct Asked {
    const SampleSet* samples;
    const ProbeOptions* options;
  };
  // Identify for each, in passes of up to 64 with equal `where` and `relinearise`.
  std::vector<absl::StatusOr<EncryptedScores>> IdentifyTogether(const Gallery::Impl& gallery,
                                                                std::span<const Asked> asked) const;
  // 1:1: scores against the templates of the claimed identity only, or against its stand-in
  // (matcher/stand_in.h).
  absl::StatusOr<EncryptedScores> Verify(const Gallery::Impl& gallery, const SampleSet& samples,
                                         const std::string& identity,
                                         const ProbeOptions& options) const;
  // The same with given choices: equal choices give the same reply, bit for bit.
  absl::StatusOr<EncryptedScores> IdentifyAs(const Gallery::Impl& gallery, const SampleSet& samples,
                                             const ProbeOptions& options, const Draw& draw,
                                             const ProgressFunction& progress = {}) const;
  absl::StatusOr<EncryptedScores> VerifyAs(const Gallery::Impl& gallery, const SampleSet& samples,
                                           const std::string& identity, const ProbeOptions& options,
                                           const Draw& draw) const;
  // NewDraw: for a new reply (server_audit.cc). It has no seed if the gallery's folder has no audit
  // key.
  absl::StatusOr<Draw> NewDraw(const Gallery::Impl& gallery) const;
  // The same with a head that ReadKeptHead gave, for several replies from one gallery.
  absl::StatusOr<Draw> NewDraw(const Gallery::Impl& gallery, const KeptHead& kept) const;
  // Recomputes a reply from its stated seed.
  absl::StatusOr<EncryptedScores> Repeat(const Gallery::Impl& gallery, const SampleSet& samples,
                                         const EncryptedScores& said, uint64_t row,
                                         const ReplySeed& seed, uint64_t issued) const;

 private:
  Impl() = default;
  // The sum of the samples of these rows.
  absl::StatusOr<ProbeInputs> ReadSum(const SampleSet& samples,
                                      std::span<const SampleRows> rows) const;
  // The requested row, or the sum of all.
  absl::StatusOr<ProbeInputs> ReadProbe(const SampleSet& samples,
                                        const ProbeOptions& options) const;
  // kInvalidArgument for samples that the server cannot average.
  static absl::Status CheckAverage(const SampleSet& samples);
  static absl::StatusOr<std::unique_ptr<Impl>> Create(const Model& model, Rings rings,
                                                      RingKeys keys);
  absl::Status CheckEnrolmentKeys() const;
  // With their norm proofs.
  absl::StatusOr<ProvenEnrolment> Prove(std::vector<Enrolment> fused,
                                        const ProgressFunction& progress) const;
  absl::StatusOr<ProvenEnrolment> Prove(BatchEnrolment bulk) const;
  absl::StatusOr<ProvenEnrolment> FuseToProve(const SampleSet& samples, const EnrolOptions& options,
                                              const ProgressFunction& progress) const;
  absl::StatusOr<ProvenEnrolment> ReadProvenEnrolment(const Gallery::Impl& gallery,
                                                      const Digest& digest) const;
  // Adds the approved templates of an enrolment; a batch stretch by stretch.
  absl::Status ActivateEntry(GalleryChange* change, ProvenEnrolment e,
                             const std::vector<bool>& activated) const;
  // The same for templates whose names may be enrolled already, or that replace others.
  struct Activating;
  absl::Status Join(ProvenEnrolment e, const std::vector<bool>& activated,
                    Activating* so_far) const;
  // kFailedPrecondition unless the samples are for this server's key and this use. Verification's
  // use is that of enrolment.
  absl::Status CheckUse(const SampleSet& samples, SampleUse use) const;
  // z of one row of a set that is not fused, in the enrolment ring.
  absl::StatusOr<ckks::Ciphertext> Project(const SampleSet& samples,
                                           std::span<const ckks::Ciphertext* const> modalities,
                                           size_t count) const;
  // kFailedPrecondition unless the samples may be enrolled and the keys for it exist.
  absl::Status CheckEnrolable(const SampleSet& samples, const EnrolOptions& options) const;
  // The digest of one row of samples per modality.
  SampleDigest DigestOf(const SampleSet& samples, const SampleRows& rows) const;
  // The template of one row per modality, or of the mean of several.
  absl::StatusOr<ckks::Ciphertext> FuseRows(const SampleSet& samples,
                                            std::span<const SampleRows> rows) const;
  absl::StatusOr<Enrolment> Fuse(const SampleSet& samples, const Combination& of) const;
  // A probe of an identification, projected by the prober or by clients.
  absl::StatusOr<ProvenProbe> FuseToIdentify(const SampleSet& samples, const ProbeInputs& inputs,
                                             std::optional<double> sigma) const;
  absl::StatusOr<const ProbeFuser*> Prober(size_t samples = 1) const;
  // A fused and prepared probe, and its reply without scores.
  struct PreparedProbe {
    TiledCiphertexts tiles;
    EncryptedScores reply;
  };
  // Fuse: sets tiles and norm of a Fused that has a draw.
  absl::Status Fuse(const ProbeFuser& prober, const SampleSet& samples, const ProbeOptions& options,
                    Fused* fused) const;
  // Match: Identify with a Fused that has a draw. Fuses it if necessary.
  absl::StatusOr<EncryptedScores> Match(const Gallery::Impl& gallery, const SampleSet& samples,
                                        const ProbeOptions& options, Fused* fused,
                                        const ProgressFunction& progress) const;
  // Start: the reply to a fused probe, without scores.
  absl::StatusOr<EncryptedScores> Start(const Gallery::Impl& gallery, const SampleSet& samples,
                                        const ProbeOptions& options, const Fused& fused,
                                        const std::optional<Restriction>& restriction) const;
  absl::StatusOr<PreparedProbe> Prepare(const ProbeFuser& prober, const Gallery::Impl& gallery,
                                        const SampleSet& samples, const ProbeOptions& options,
                                        const Draw& draw,
                                        const std::optional<Restriction>& restriction) const;
  // Writes the scores of all these probes, which have the same restriction and form, into their
  // replies. The gallery is read once. `step` is called after every few blocks; its error ends the
  // call.
  absl::Status MatchPass(const Gallery::Impl& gallery, const ProbeFuser& prober, bool relinearise,
                         std::span<PreparedProbe> probes,
                         const std::function<absl::Status()>& step) const;
  // IdentifyTogether of at most 64 equal ones.
  void IdentifyAlike(const Gallery::Impl& gallery, std::span<const Asked> asked,
                     std::span<absl::StatusOr<EncryptedScores>* const> replies) const;
  // Blocks with these numbers, pinned.
  absl::StatusOr<std::vector<PinnedBlock>> ReadBlocks(const Gallery::Impl& gallery,
                                                      std::span<const uint64_t> blocks) const;
  // Writes the scores of these blocks into replies.
  absl::Status MatchRun(const Gallery::Impl& gallery, const ProbeFuser& prober,
                        const TiledCiphertexts& probe, bool relinearise,
                        std::span<const uint64_t> blocks, std::span<ScoreReply> replies) const;
  EncryptedScores StartReply(ScoreKind kind, const SampleSet& samples, const ProbeOptions& options,
                             ckks::Ciphertext norm, const Draw& draw) const;

  Model model_;
  Rings rings_;
  std::unique_ptr<RingKeys> keys_;
  GalleryBinding binding_;
  mutable std::mutex mutex_;  // of all below
  // By the number of samples in the mean.
  mutable std::map<size_t, std::unique_ptr<Fuser>> fusers_;
  mutable std::map<size_t, std::unique_ptr<ProbeFuser>> probers_;
};

}  // namespace heft

#endif  // HEFT_MATCHER_SERVER_IMPL_H_
