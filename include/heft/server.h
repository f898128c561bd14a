// SPDX-License-Identifier: Apache-2.0
// The server's role: it fuses, enrols and matches what it cannot read. Link heft::server, which
// holds nothing that can decrypt.
//
//   auto server = heft::Server::Create(model, evaluation_keys);
//   server->Enrol("gallery", {{face, "face.ct"}, {voice, "voice.ct"}});
//   auto pending = server->Pending(*heft::Gallery::Open("gallery"));  // -> KeyOwner::Admit
//   server->Admit("gallery", admission, "admission", trust);          // now they can be matched
//   auto gallery = heft::Gallery::Open("gallery");
//   auto reply = server->Identify(*gallery, {{probe, "probe.ct"}});   // -> heft/key_owner.h
#ifndef HEFT_SERVER_H_
#define HEFT_SERVER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/expanded_keys.h"
#include "heft/export.h"
#include "heft/gallery.h"
#include "heft/metadata.h"
#include "heft/model.h"
#include "heft/progress.h"
#include "heft/trust.h"

namespace heft {

// SampleFile: what a client made (heft/client.h), encrypted samples of one modality.
struct SampleFile {
  std::vector<uint8_t> bytes;
  std::string name;  // in errors
};

struct EnrolOptions {
  // Enrols all under this identity instead of the samples' labels.
  std::string identity;
  // For each identity, every combination of one sample a modality (the paper's enrolment protocol);
  // otherwise row i of one file belongs to row i of the others.
  bool all_pairs = false;
  // Of each identity one template: the mean of its samples, taken under encryption before it is
  // normalised; at most kMostSamples (heft/client.h) of each. kFailedPrecondition for a model
  // without sample_agreement; kInvalidArgument with `all_pairs`, and for samples that clients have
  // projected or encrypted in bulk, who take the mean themselves (Samples::average).
  bool average = false;
  // A registrar's authorisation (Authorise), needed for an identity that the gallery has already,
  // and the trust file that lists the registrar.
  std::vector<uint8_t> authorisation;
  const Trust* trust = nullptr;
  // Kept beside each of the templates, in the clear (heft/metadata.h).
  Metadata metadata = {};
  // Unix seconds from which on they answer nobody; 0: never.
  uint64_t expires = 0;
  // Any text that names this request, and no other: who asks again with it, after a failure whose
  // outcome he does not know, is told what came of the first time, for seven days, and nothing
  // happens twice. kAlreadyExists for one that another request had.
  std::string idempotency_key = {};
  // Those samples alone whose identity belongs into this bucket of so many (heft/shards.h).
  // kNotFound where there are none; kInvalidArgument for samples that were encrypted in bulk.
  struct Bucket {
    uint32_t index = 0, of = 1;
  };
  std::optional<Bucket> bucket = {};
};

// EnrolResult: templates brought, what waits in quarantine with them, and what the gallery holds.
struct EnrolResult {
  size_t brought = 0;
  size_t waiting = 0;
  size_t templates = 0;
  size_t blocks = 0;
  bool repeated = false;  // all that is the answer to an earlier request of this key
  // Modalities that the templates lack, where `repeated` is false. Decision tables are for
  // templates that have all of them: no table says what scores with these mean. Probes that lack
  // the same modalities score higher with them than their table expects.
  std::vector<std::string> missing = {};
};

// AdmitResult: templates that an admission brought into the gallery, that it rejected, which leaves
// nothing of them, and what there is now.
struct AdmitResult {
  size_t admitted = 0;
  size_t rejected = 0;
  size_t waiting = 0;
  size_t templates = 0;
  size_t blocks = 0;
};

// kAdmissionLife: seconds for which a request for admission, and its answer, are good.
inline constexpr uint64_t kAdmissionLife = 7 * 86400;

// AuthorisedAct: what a registrar may allow for an identity that a gallery has.
enum class AuthorisedAct : uint8_t { kAdd = 1, kReplace = 2, kRemove = 3 };

// Authorise: a registrar's word, signed, for EnrolOptions; good for `life` seconds, 0 for ever.
// kInvalidArgument for what is no identity's name.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> Authorise(const SigningKey& registrar,
                                                           const GalleryId& gallery,
                                                           AuthorisedAct act,
                                                           const std::string& identity,
                                                           uint64_t life = 86400);

struct ProbeOptions {
  size_t row = 0;  // which sample of the files, from 0
  // All samples of the files are one person's, and one probe: their mean, as in EnrolOptions, and
  // with its errors. Such a request is signed as one of kAllRows. Not of IdentifyAll.
  bool average = false;
  bool with_identities = true;  // identification: name the templates in the reply
  // Identification: false leaves replies of degree 2 up to 64 dimensions, less work here and three
  // times the bytes. Blocks of more dimensions are always relinearised.
  bool relinearise = true;
  // Identification: of those alone whom all of these fit. The reply says so.
  std::vector<Condition> where = {};
};

// ProbeRequest: one of several probes that are matched together, whoever sent it.
struct ProbeRequest {
  std::vector<SampleFile> files;
  ProbeOptions options = {};
};

// KeyFile: keys for a server: a key file's bytes, or that file expanded (heft/expanded_keys.h),
// which goes before them.
struct KeyFile {
  std::span<const uint8_t> bytes = {};
  std::string_view what = "evaluation keys";  // in errors
  const ExpandedKeys* expanded = nullptr;
  bool verified = false;  // a signature over `bytes` was checked, so their checksums need not be
};

// ReplySigner: what SignReply takes of replies that are signed where they are made.
struct Request;
struct ReplySigner {
  const SigningKey* key = nullptr;
  const Request* request = nullptr;
  uint64_t row = 0;
  SignerKey audience{};
  uint64_t life = 3600;  // kLife
};

// Server: a model and the evaluation keys of one key set. Files are one a modality, in any order;
// one that is absent counts as missing. Errors of all calls: kDataLoss for damaged files,
// kFailedPrecondition for those of another model, key or parameters, kInvalidArgument for files
// that do not go together; each names the file. Const: any number of threads may call at once, and
// each call uses all threads (heft/runtime.h).
class HEFT_EXPORT Server {
 public:
  class HEFT_HIDDEN Impl;

  // `enrolment_keys`: of a model whose profile has two rings, for Enrol and Verify; a
  // server that only identifies needs none. Expands the keys, at 512 + 512 dimensions to some 9 MB
  // in memory, and 66 more for enrolment. kFailedPrecondition for keys of other parameters or too
  // few for the model.
  static absl::StatusOr<Server> Create(const Model& model, std::span<const uint8_t> evaluation_keys,
                                       std::string_view what = "evaluation keys",
                                       std::span<const uint8_t> enrolment_keys = {},
                                       std::string_view enrolment_what = "enrolment keys");
  // CreateFrom: the same of keys that may be expanded already: those are mapped, not copied.
  static absl::StatusOr<Server> CreateFrom(const Model& model, const KeyFile& evaluation,
                                           const KeyFile& enrolment = {});

  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();

  // Fuses samples and brings them into the quarantine of the gallery in `folder`, which is made if
  // there is none: all or none of them. Nobody matches them until the key owner has admitted them
  // (Pending, KeyOwner::Admit, Admit). kAlreadyExists for samples that were enrolled before,
  // kFailedPrecondition for an identity that is enrolled and nobody's authorisation. kUnavailable
  // where others write for longer than SetWriterWait, or the disk refuses.
  absl::StatusOr<EnrolResult> Enrol(const std::string& folder, std::vector<SampleFile> files,
                                    const EnrolOptions& options = {},
                                    const Monitor& monitor = {}) const;
  // EnrolledBefore: what Enrol has answered to these files with this idempotency key, if it was
  // asked before; Enrol asks so itself. Changes nothing. kAlreadyExists for a key that another
  // request had.
  absl::StatusOr<std::optional<EnrolResult>> EnrolledBefore(const std::string& folder,
                                                            std::span<const SampleFile> files,
                                                            const EnrolOptions& options) const;

  // All that waits, for KeyOwner::Admit.
  absl::StatusOr<std::vector<uint8_t>> Pending(const Gallery& gallery) const;
  // What the key owner answered, signed by a key owner of `trust`: admitted templates join the
  // gallery, all or none of them, and rejected ones are gone. Again: nothing more happens. Errors
  // of OpenSigned; kFailedPrecondition for another gallery; as Enrol's.
  absl::StatusOr<AdmitResult> Admit(const std::string& folder, std::span<const uint8_t> admission,
                                    std::string_view what, const Trust& trust,
                                    const Monitor& monitor = {}) const;
  // The same, where this key owner is all that is trusted.
  absl::StatusOr<AdmitResult> Admit(const std::string& folder, std::span<const uint8_t> admission,
                                    std::string_view what, const SignerKey& key_owner,
                                    const Monitor& monitor = {}) const;

  // Fold: what was admitted last, and stands in the gallery's journal alone, joins the blocks: less
  // to do for whoever opens the gallery next. Admit does so by itself when much has come together;
  // re-keying needs it. Errors as Admit's.
  absl::Status Fold(const std::string& folder) const;

  // 1:N: the encrypted scores of a probe against every template, for the key owner. The gallery is
  // read once, gamma x 32 KB x (templates / N) bytes.
  absl::StatusOr<std::vector<uint8_t>> Identify(const Gallery& gallery,
                                                std::vector<SampleFile> files,
                                                const ProbeOptions& options = {},
                                                const Monitor& monitor = {}) const;

  // IdentifySigned: one probe in so many galleries of this model and key, as the buckets of a
  // sharded one are: of each what Identify and SignReply make of it, in less time. It is fused once
  // for all of one store. `open` gives a gallery, which is let go before the next; `use` takes its
  // reply. The first error ends the call.
  absl::Status IdentifySigned(
      size_t galleries, const std::function<absl::StatusOr<Gallery>(size_t)>& open,
      std::vector<SampleFile> files, const ProbeOptions& options, const ReplySigner& signer,
      const std::function<absl::Status(const Gallery&, std::vector<uint8_t> reply)>& use,
      const Monitor& monitor = {}) const;

  // Identify of every sample of the files, which hold equally many: the gallery is read once for
  // up to 64 of them. `use` takes the replies in the order of the rows; its error ends the call.
  absl::Status IdentifyAll(
      const Gallery& gallery, std::vector<SampleFile> files, const ProbeOptions& options,
      const std::function<absl::Status(size_t row, std::span<const uint8_t> reply)>& use,
      const Monitor& monitor = {}) const;

  // Identify of probes that came together, each with files and options of its own: the gallery is
  // read once for up to 64 of them whose `where` and `relinearise` are the same. An answer to each,
  // in their order: where one fails, its error stands in its place, and the others are answered.
  std::vector<absl::StatusOr<std::vector<uint8_t>>> IdentifyTogether(
      const Gallery& gallery, std::vector<ProbeRequest> probes) const;

  // 1:1: the encrypted scores against the claimed identity's templates and no other. An identity
  // that is not enrolled is answered alike, with scores of at most 0.25: the reply does not tell.
  // kFailedPrecondition where nobody is enrolled.
  absl::StatusOr<std::vector<uint8_t>> Verify(const Gallery& gallery, std::vector<SampleFile> files,
                                              const std::string& identity,
                                              const ProbeOptions& options = {}) const;

  // The same for every sample of the files, which hold equally many, as IdentifyAll.
  absl::Status VerifyAll(
      const Gallery& gallery, std::vector<SampleFile> files, const std::string& identity,
      const std::function<absl::Status(size_t row, std::span<const uint8_t> reply)>& use,
      const Monitor& monitor = {}) const;

 private:
  friend struct Inside;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// GallerySigner: the key that a gallery's server signs with, FOLDER/server.key (mode 0600); made,
// with server.pub for those who are to believe it, where there is none. kNotFound without a
// gallery; kFailedPrecondition for a file that others may read; kUnavailable, kDataLoss.
HEFT_EXPORT absl::StatusOr<SigningKey> GallerySigner(const std::string& gallery);

// Request: what a reply is to say of what it answers.
struct HEFT_EXPORT Request {
  SignerKey client{};               // who signed its files; zeros: unknown
  std::array<uint8_t, 16> nonce{};  // of the first one; zeros: not signed
  Digest files{};                   // FilesDigest
  // Of each file that somebody signed who is trusted: what it is known by when it comes again.
  struct Part {
    std::string name;  // in errors
    SignerKey signer{};
    std::array<uint8_t, 16> nonce{};
    uint64_t expires = 0;
  };
  std::vector<Part> parts;
};
// kLongestRequest: seconds for which a signed request may be good, as servers remember it so long.
inline constexpr uint64_t kLongestRequest = 86400;

// ReadRequest: of the files of a request as they came. Where `trust` lists
// clients or registrars each must be signed by one of them, or by a key owner, for `server` or for
// anybody, for kLongestRequest at most, and all by the same: otherwise OpenSigned's errors. What is
// signed must be so by somebody who is listed; without `trust` nobody is asked.
HEFT_EXPORT absl::StatusOr<Request> ReadRequest(std::span<const SampleFile> files,
                                                const Trust* trust, const SignerKey& server);

// RememberRequest: of the signed files of a request, that row `row` (kAllRows: every row) is about
// to be answered, in the gallery's folder and on the disk when this returns. kFailedPrecondition
// where it was before, in whatever process or company: a request is answered once, and who asks
// again signs a new one. kResourceExhausted where too many are remembered, kUnavailable, kDataLoss.
// A request that nobody signed passes.
inline constexpr uint64_t kAllRows = ~uint64_t{0};
HEFT_EXPORT absl::Status RememberRequest(const std::string& gallery, const Request& request,
                                         uint64_t row);

// kLife: seconds for which requests and replies are good unless somebody says otherwise. Long
// enough to hand files about and to open a batch at leisure; a recorded one is refused the next
// day.
inline constexpr uint64_t kLife = 3600;

// SignReply: a reply, signed by a server for the key owner `audience` (zeros: anybody): of which
// gallery and generation, to which row of what request, and good for `life` seconds, 0 for ever.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> SignReply(
    const SigningKey& key, const Gallery& gallery, const Request& request, uint64_t row,
    const SignerKey& audience, std::span<const uint8_t> reply, uint64_t life = kLife);

}  // namespace heft

#endif  // HEFT_SERVER_H_
