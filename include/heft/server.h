// SPDX-License-Identifier: Apache-2.0
// The server's role: it fuses, enrols and matches encrypted samples that it cannot read. Link
// heft::server, which contains no code that decrypts.
//
//   auto server = heft::Server::Create(model, evaluation_keys);
//   server->Enrol("gallery", {{face, "face.ct"}, {voice, "voice.ct"}});
//   auto pending = server->Pending(*heft::Gallery::Open("gallery"));  // -> KeyOwner::Approve
//   server->Activate("gallery", admission, "admission", trust);          // now they can be matched
//   auto gallery = heft::Gallery::Open("gallery");
//   auto reply = server->Identify(*gallery, {{probe, "probe.ct"}});   // -> heft/key_owner.h
#ifndef HEFT_SERVER_H_
#define HEFT_SERVER_H_

#include <array>
#include <cstddef>
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
#include "heft/base.h"
#include "heft/gallery.h"
#include "heft/model.h"
#include "heft/results.h"
#include "heft/trust.h"

namespace heft {

// A server's keys, expanded once. Evaluation and enrolment keys are stored packed, half of them as
// seeds. Unpacking takes most of the time of a process that serves one request. ExpandedKeys keeps
// the unpacked keys in a file beside them, which later processes map and share:
//
//   heft::ExpandedKeys::Make(model, "evaluation.keys", "evaluation.keys.expanded");   // once
//   auto keys = heft::ExpandedKeys::Open("evaluation.keys.expanded", "evaluation.keys");
//   auto server = keys.ok() ? heft::Server::CreateFrom(model, {.expanded = &*keys})
//                           : heft::Server::Create(model, evaluation_keys);
//
// Such a file can be made again at any time. It is used only if no other user, except root, can
// have written it. Link heft::server.

// ExpandedKeys: the mapped keys of one key file. Servers that were created from it keep the
// mapping.
class HEFT_EXPORT ExpandedKeys {
 public:
  class HEFT_HIDDEN Impl;

  // Make: expands the key file `source`, evaluation or enrolment keys for `model`, into the file
  // `path`, which is replaced in one step. Several processes may do so at once. Takes ten times the
  // size of `source` in memory. Checks no signature: use CheckSigned. Errors of Server::Create;
  // kUnavailable if the operating system refuses the write.
  static absl::Status Make(const Model& model, const std::string& source, const std::string& path);

  // Open: kDataLoss if the file is damaged, of another version, or of other keys than `source` has
  // now: call Make. kFailedPrecondition if another user could have written it (the file is another
  // user's, writable for others, or a link); kNotFound without it or `source`; kUnavailable. After
  // any of these errors `source` can still be parsed.
  static absl::StatusOr<ExpandedKeys> Open(const std::string& path, const std::string& source);

  ExpandedKeys(ExpandedKeys&&) noexcept;
  ExpandedKeys& operator=(ExpandedKeys&&) noexcept;
  ~ExpandedKeys();

  // Checks the key file's stored statement and signature, as OpenSigned. The result has no `file`.
  absl::StatusOr<SignedFile> CheckSigned(const Trust& trust, const Expected& expected,
                                         std::string_view what) const;
  // Size of the mapping.
  size_t bytes() const;

 private:
  friend struct Inside;
  explicit ExpandedKeys(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// SampleFile: encrypted samples of one modality, made by a client (heft/client.h).
struct SampleFile {
  std::vector<uint8_t> bytes;
  std::string name;  // in errors
};

struct EnrolOptions {
  // Enrols all under this identity instead of the samples' labels.
  std::string identity;
  // Enrols every combination of one sample of each modality of an identity (the paper's enrolment
  // protocol). Otherwise row i of one file belongs to row i of the others.
  bool all_pairs = false;
  // One template for each identity: the mean of its samples, at most kMaxSamples (heft/client.h),
  // taken under encryption before normalisation. kFailedPrecondition for a model without
  // sample_agreement. kInvalidArgument with `all_pairs`, and for samples that clients have
  // projected or encrypted in bulk: there the client takes the mean (Samples::average).
  bool average = false;
  // A registrar's authorisation (Authorise), required for an identity that the gallery already has,
  // and the trust file that lists the registrar.
  std::vector<uint8_t> authorisation = {};
  const Trust* trust = nullptr;
  // Who sent the files; zeros: they are not signed. The key owner is shown it, and the limits of
  // pending enrolments are one client's. The desk (heft/desk.h) takes it from the request.
  SignerKey client{};
  // Stored with each template, not encrypted (heft/gallery.h).
  Metadata metadata = {};
  // Unix seconds from which the templates are no longer matched; 0: never.
  uint64_t expires = 0;
  // Any text that names this request only. A repetition with the same key within seven days, for
  // example after a failure with unknown outcome, returns the stored answer and changes nothing.
  // kAlreadyExists if another request used the key.
  std::string idempotency_key = {};
  // Enrols only samples whose identity belongs to bucket `index` of `of` (heft/shards.h). kNotFound
  // if there are none; kInvalidArgument for samples that were encrypted in bulk.
  struct Bucket {
    uint32_t index = 0, of = 1;
  };
  std::optional<Bucket> bucket = {};
};

// kAdmissionLife: how many seconds a request for admission and its answer are valid.
inline constexpr uint64_t kAdmissionLife = 7 * 86400;

// AuthorisedAct: a change of an enrolled identity that a registrar may allow.
enum class AuthorisedAct : uint8_t { kAdd = 1, kReplace = 2, kRemove = 3 };

// Authorise: a registrar's signed permission for EnrolOptions, valid for `life` seconds (0: without
// end). kInvalidArgument for an invalid identity.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> Authorise(const SigningKey& registrar,
                                                           const GalleryId& gallery,
                                                           AuthorisedAct act,
                                                           const std::string& identity,
                                                           uint64_t life = 86400);

struct ProbeOptions {
  size_t row = 0;  // which sample of the files, from 0
  // The probe is the mean of all samples of the files, which are of one person;
  // EnrolOptions::average gives the errors. The request is signed for row kAllRows. Not for
  // IdentifyAll.
  bool average = false;
  bool with_identities = true;  // identification: name the templates in the reply
  // Identification: false leaves replies of degree 2 for up to 64 dimensions: less work for the
  // server, three times the bytes. Blocks of more dimensions are always relinearised.
  bool relinearise = true;
  // Identification: searches only templates that fulfil all conditions. The reply states them.
  std::vector<Condition> where = {};
};

// ProbeRequest: one of several probes, possibly of different clients, that are matched together.
struct ProbeRequest {
  std::vector<SampleFile> files;
  ProbeOptions options = {};
};

// KeyFile: keys for a server: the bytes of a key file, or the same keys expanded
// (heft/server.h). `expanded` is used if both are given.
struct KeyFile {
  std::span<const uint8_t> bytes = {};
  std::string_view what = "evaluation keys";  // in errors
  const ExpandedKeys* expanded = nullptr;
  bool verified = false;  // a signature over `bytes` was checked, so checksums are skipped
};

// ReplySigner: arguments of SignReply, for calls that sign their replies.
struct Request;
struct ReplySigner {
  const SigningKey* key = nullptr;
  const Request* request = nullptr;
  uint64_t row = 0;
  SignerKey audience{};
  uint64_t life = 3600;  // kLife
};

// Server: a model and the evaluation keys of one key set. Calls take one file for each modality, in
// any order; an absent file counts as a missing modality. All calls return kDataLoss for damaged
// files, kFailedPrecondition for files of another model, key or parameters, and kInvalidArgument
// for files that do not belong together; each error names the file. Const calls are safe from any
// number of threads; each uses all threads (heft/base.h).
class HEFT_EXPORT Server {
 public:
  class HEFT_HIDDEN Impl;

  // `enrolment_keys`: for Enrol and Verify with a model whose profile has two rings; a server that
  // only identifies needs none. Expands the keys: about 9 MB in memory at 512 + 512 dimensions, and
  // 66 MB more for enrolment. kFailedPrecondition for keys of other parameters, or too few keys for
  // the model.
  static absl::StatusOr<Server> Create(const Model& model, std::span<const uint8_t> evaluation_keys,
                                       std::string_view what = "evaluation keys",
                                       std::span<const uint8_t> enrolment_keys = {},
                                       std::string_view enrolment_what = "enrolment keys");
  // CreateFrom: the same for keys that may be expanded; expanded keys are mapped, not copied.
  static absl::StatusOr<Server> CreateFrom(const Model& model, const KeyFile& evaluation,
                                           const KeyFile& enrolment = {});

  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();

  // Fuses samples and adds them as pending templates to the gallery in `folder`: all or none.
  // Creates the gallery if it does not exist. Pending templates are not matched until the key owner
  // has approved them (Pending, KeyOwner::Approve, Activate). Several pending enrolments may have
  // one new identity: the key owner chooses. One client may have 4,000 pending enrolments and 512
  // MiB of them; kResourceExhausted beyond. kAlreadyExists for samples that were enrolled before.
  // kFailedPrecondition for an enrolled identity without an authorisation.
  // kUnavailable if another process writes for longer than SetWriterWait, or the operating system
  // refuses the write.
  absl::StatusOr<EnrolResult> Enrol(const std::string& folder, std::vector<SampleFile> files,
                                    const EnrolOptions& options = {},
                                    const Monitor& monitor = {}) const;
  // EnrolledBefore: the stored answer of Enrol to these files with this idempotency key, if there
  // is one. Enrol calls it too. Changes nothing. kAlreadyExists if another request used the key.
  absl::StatusOr<std::optional<EnrolResult>> EnrolledBefore(const std::string& folder,
                                                            std::span<const SampleFile> files,
                                                            const EnrolOptions& options) const;

  // All pending templates, for KeyOwner::Approve. Damaged enrolments are left out; DamagedRecords
  // of the same gallery names them.
  absl::StatusOr<std::vector<uint8_t>> Pending(const Gallery& gallery) const;
  // Applies an admission that a key owner of `trust` signed: approved templates join the gallery,
  // all or none, and rejected ones are deleted and overwritten. A second call changes nothing.
  // Errors of OpenSigned and Enrol; kFailedPrecondition for another gallery.
  absl::StatusOr<ActivateResult> Activate(const std::string& folder,
                                          std::span<const uint8_t> admission, std::string_view what,
                                          const Trust& trust, const Monitor& monitor = {}) const;
  // The same, trusting this key owner only.
  absl::StatusOr<ActivateResult> Activate(const std::string& folder,
                                          std::span<const uint8_t> admission, std::string_view what,
                                          const SignerKey& key_owner,
                                          const Monitor& monitor = {}) const;

  // Fold: moves templates that are only in the gallery's journal into the blocks, so that the
  // gallery opens faster. Activate does this when the journal has grown; re-keying requires it.
  // Errors as Activate.
  absl::Status Fold(const std::string& folder) const;

  // 1:N: the encrypted scores of a probe against every template, for the key owner. Reads the
  // gallery once: gamma x 32 KB x (templates / N) bytes.
  absl::StatusOr<std::vector<uint8_t>> Identify(const Gallery& gallery,
                                                std::vector<SampleFile> files,
                                                const ProbeOptions& options = {},
                                                const Monitor& monitor = {}) const;

  // IdentifySigned: matches one probe against several galleries of this model and key, such as the
  // buckets of a sharded gallery. The results equal Identify and SignReply for each gallery, but
  // the probe is fused once for each store. `open` gives a gallery, which is released before the
  // next one is opened; `use` takes its reply. The first error ends the call.
  absl::Status IdentifySigned(
      size_t galleries, const std::function<absl::StatusOr<Gallery>(size_t)>& open,
      std::vector<SampleFile> files, const ProbeOptions& options, const ReplySigner& signer,
      const std::function<absl::Status(const Gallery&, std::vector<uint8_t> reply)>& use,
      const Monitor& monitor = {}) const;

  // IdentifyAll: Identify for every row of the files, which must hold equally many samples. Reads
  // the gallery once for up to 64 rows. `use` takes the replies in the order of the rows; its error
  // ends the call.
  absl::Status IdentifyAll(
      const Gallery& gallery, std::vector<SampleFile> files, const ProbeOptions& options,
      const std::function<absl::Status(size_t row, std::span<const uint8_t> reply)>& use,
      const Monitor& monitor = {}) const;

  // IdentifyTogether: Identify for several probes, each with its own files and options. Reads the
  // gallery once for up to 64 probes with equal `where` and `relinearise`. Returns one result for
  // each probe, in order; a failed probe has its error there and does not affect the others.
  std::vector<absl::StatusOr<std::vector<uint8_t>>> IdentifyTogether(
      const Gallery& gallery, std::vector<ProbeRequest> probes) const;

  // 1:1: the encrypted scores against the templates of the claimed identity only. An identity that
  // is not enrolled gets a reply of the same form, with scores of at most 0.25, so the reply does
  // not tell. kFailedPrecondition if the gallery is empty.
  absl::StatusOr<std::vector<uint8_t>> Verify(const Gallery& gallery, std::vector<SampleFile> files,
                                              const std::string& identity,
                                              const ProbeOptions& options = {}) const;

  // VerifyAll: Verify for every row of the files, as IdentifyAll.
  absl::Status VerifyAll(
      const Gallery& gallery, std::vector<SampleFile> files, const std::string& identity,
      const std::function<absl::Status(size_t row, std::span<const uint8_t> reply)>& use,
      const Monitor& monitor = {}) const;

 private:
  friend struct Inside;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// GallerySigner: the signing key of a gallery's server, FOLDER/server.key (mode 0600). Creates it,
// with server.pub for others' trust files, if it does not exist. kNotFound without a gallery;
// kFailedPrecondition for a file that other users may read; kUnavailable, kDataLoss.
HEFT_EXPORT absl::StatusOr<SigningKey> GallerySigner(const std::string& gallery);

// Request: which request a reply answers.
struct HEFT_EXPORT Request {
  SignerKey client{};               // the signer of its files; zeros: unknown
  std::array<uint8_t, 16> nonce{};  // of the first file; zeros: not signed
  Digest files{};                   // FilesDigest
  // For each file that a trusted signer signed: the facts by which a repetition is recognised.
  struct Part {
    std::string name;  // in errors
    SignerKey signer{};
    std::array<uint8_t, 16> nonce{};
    uint64_t expires = 0;
  };
  std::vector<Part> parts = {};
};
// kLongestRequest: the longest validity of a signed request in seconds; servers remember requests
// as long.
inline constexpr uint64_t kLongestRequest = 86400;

// ReadRequest: reads the files of a request as they were received. If `trust` lists clients or
// registrars, each file must be signed by one of them or by a key owner, for `server` or for
// anybody, for at most kLongestRequest, and all by the same signer; otherwise errors of OpenSigned.
// A signed file must be signed by a listed signer. Without `trust` no signature is checked.
HEFT_EXPORT absl::StatusOr<Request> ReadRequest(std::span<const SampleFile> files,
                                                const Trust* trust, const SignerKey& server);

// RememberRequest: records, in the gallery's folder and on the disk before it returns, that row
// `row` (kAllRows: every row) of a signed request is about to be answered. kFailedPrecondition if
// it was recorded before, by any process or together with other rows: a request is answered once,
// and a client signs a new one to ask again. kResourceExhausted if too many requests are recorded;
// kUnavailable, kDataLoss. Records nothing for an unsigned request.
inline constexpr uint64_t kAllRows = ~uint64_t{0};
HEFT_EXPORT absl::Status RememberRequest(const std::string& gallery, const Request& request,
                                         uint64_t row);

// kLife: the default validity of requests and replies in seconds. It is long enough to transfer
// files and to open a batch; a recorded request is refused the next day.
inline constexpr uint64_t kLife = 3600;

// SignReply: signs a reply for the key owner `audience` (zeros: anybody). The signature covers the
// gallery, its generation, the request and the row, and is valid for `life` seconds (0: without
// end).
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> SignReply(
    const SigningKey& key, const Gallery& gallery, const Request& request, uint64_t row,
    const SignerKey& audience, std::span<const uint8_t> reply, uint64_t life = kLife);

// Checking a registrar's permission (Authorise) before a change. Link heft::server.

// ParseAuthorisedAct: reads "add", "replace" or "remove". kInvalidArgument lists them.
HEFT_EXPORT absl::StatusOr<AuthorisedAct> ParseAuthorisedAct(std::string_view name);

// CheckAuthorised: whether a registrar that `trust` lists permitted this act for this identity in
// this gallery (Authorise). OpenSigned's errors; kFailedPrecondition for another act, gallery or
// identity.
HEFT_EXPORT absl::Status CheckAuthorised(std::span<const uint8_t> authorisation, const Trust& trust,
                                         AuthorisedAct act, const GalleryId& gallery,
                                         const std::string& identity);

// Reads a server's key files in the fastest way: maps them if they are expanded, otherwise reads
// them. All programs of a server use this rule to find expanded keys:
//
//   auto keys = heft::LoadedKeys::Read("evaluation.keys");
//   auto checked = heft::CheckKeys(&trust, keys->view());
//   auto served = heft::TrustedServer::Create(model, trust, *checked);
//
// Link heft::server.

// LoadedKeys: the keys of one key file; empty if nothing was read.
struct HEFT_EXPORT LoadedKeys {
  // Read: reads the key file `path`, without checking its signer. Expanded keys are NAME.expanded
  // in the folder `cache`, or beside `path` if `cache` is empty. If they cannot be used, `why`
  // gives the reason and the key file is read: that is no error. kNotFound, kUnavailable, kDataLoss
  // for an empty file.
  static absl::StatusOr<LoadedKeys> Read(const std::string& path, const std::string& cache = "");

  // Expand: makes the expanded file and uses it. Call it only for keys that CheckKeys has accepted.
  // Errors of ExpandedKeys::Make and Open.
  absl::Status Expand(const Model& model);
  // Mend: makes an existing expanded file again if it is damaged or of other keys, and uses it. A
  // file that other users could have written stays as it is. Returns whether the file was made.
  // `notice` receives a message for the program's user, or is empty. The key file may have been
  // replaced meanwhile, so repeat all earlier checks of it.
  bool Mend(const Model& model, std::string* notice);

  bool found() const { return expanded.has_value() || !bytes.empty(); }
  // For CheckKeys and Server::CreateFrom; valid while this object exists and is not moved.
  KeyFile view() const { return {bytes, path, expanded ? &*expanded : nullptr}; }

  std::string path, expanded_path;
  std::optional<ExpandedKeys> expanded;
  std::vector<uint8_t> bytes;  // if not expanded
  absl::Status why;            // why an existing expanded file cannot be used
};

}  // namespace heft

#endif  // HEFT_SERVER_H_
