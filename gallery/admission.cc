// SPDX-License-Identifier: Apache-2.0
#include "gallery/admission.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/identity.h"
#include "base/signed_file.h"
#include "ckks/serialization.h"
#include "fusion/key_files.h"
#include "fusion/samples.h"
#include "gallery/journal_head.h"
#include "gallery/metadata_format.h"

namespace heft {
namespace {

// Of pending enrolments: without means, with them, and with metadata and expiries too. The
// first that suffices is written.
constexpr uint32_t kWithoutMeans = 1;
constexpr uint32_t kWithMeans = 2;
constexpr uint32_t kAdmissionVersion = 3;
constexpr uint32_t kRequestVersion = 3;  // of requests and answers
constexpr uint64_t kMaxEnrolments = 1 << 20;
constexpr uint64_t kMaxTemplates = 1 << 20;  // of one enrolment
constexpr uint64_t kMaxAuthorisation = 1 << 16;

void WriteDigest(ByteWriter& writer, const Digest& digest) { writer.Raw(digest); }
void WriteBytes(ByteWriter& writer, ByteSpan bytes) {
  writer.U64(bytes.size());
  writer.Raw(bytes);
}
std::vector<uint8_t> ReadBytes(ByteReader& reader, uint64_t most) {
  const ByteSpan raw = reader.Raw(reader.Count(1, most));
  return {raw.begin(), raw.end()};
}

void WriteTemplates(ByteWriter& writer, std::span<const PendingTemplate> templates) {
  writer.U64(templates.size());
  for (const PendingTemplate& t : templates) {
    writer.String(t.identity);
    writer.Raw(t.sample);
  }
}

std::vector<PendingTemplate> ReadTemplates(ByteReader& reader) {
  std::vector<PendingTemplate> out;
  const uint64_t count = reader.Count(sizeof(uint64_t) + sizeof(SampleDigest), kMaxTemplates);
  if (count == 0) reader.Fail("an enrolment of nobody");
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    PendingTemplate t;
    t.identity = reader.String(256);
    const ByteSpan raw = reader.Raw(t.sample.size());
    std::copy(raw.begin(), raw.end(), t.sample.begin());
    const absl::Status sound = reader.ok() ? CheckIdentity(t.identity) : absl::OkStatus();
    if (!sound.ok()) reader.Fail(std::string(sound.message()));
    out.push_back(std::move(t));
  }
  return out;
}

// The samples of means.
void WriteParts(ByteWriter& writer, std::span<const PendingTemplate> templates) {
  for (const PendingTemplate& t : templates) {
    writer.U64(t.parts.size());
    for (const SampleDigest& part : t.parts) writer.Raw(part);
  }
}
void ReadParts(ByteReader& reader, std::span<PendingTemplate> templates) {
  for (PendingTemplate& t : templates) {
    t.parts.resize(reader.Count(sizeof(SampleDigest), kMaxSamples));
    for (SampleDigest& part : t.parts) part = ckks::ReadId(reader);
  }
}

// The details of templates.
void WriteDetails(ByteWriter& writer, std::span<const PendingTemplate> templates) {
  for (const PendingTemplate& t : templates) {
    writer.U64(t.expires);
    WriteMetadata(writer, t.metadata);
  }
}
void ReadDetails(ByteReader& reader, std::span<PendingTemplate> templates) {
  for (PendingTemplate& t : templates) {
    t.expires = reader.U64();
    t.metadata = ReadMetadata(reader);
  }
}

// The version that all there is needs.
uint32_t VersionOf(std::span<const PendingTemplate> templates) {
  uint32_t version = kWithoutMeans;
  for (const PendingTemplate& t : templates) {
    if (!t.metadata.empty() || t.expires != 0) return kAdmissionVersion;
    if (!t.parts.empty()) version = kWithMeans;
  }
  return version;
}

void WriteFlags(ByteWriter& writer, const std::vector<bool>& flags) {
  for (bool flag : flags) writer.U8(flag ? 1 : 0);
}
std::vector<bool> ReadFlags(ByteReader& reader, size_t count) {
  std::vector<bool> flags;
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const uint8_t flag = reader.U8();
    if (flag > 1) reader.Fail("a flag that is neither 0 nor 1");
    flags.push_back(flag == 1);
  }
  return flags;
}

// Proofs of single templates, of the matching ring; of a batch, of the enrolment ring.
void WriteProofs(ByteWriter& writer, const Rings& rings, std::span<const ckks::Ciphertext> proofs,
                 std::span<const BatchNorms> batch) {
  writer.U8(batch.empty() ? 0 : 1);
  for (const ckks::Ciphertext& c : proofs)
    ckks::WriteCiphertext(writer, *rings.matching.context, c);
  for (const BatchNorms& norms : batch) {
    writer.F64(norms.sigma);
    ckks::WriteCiphertext(writer, *rings.enrolment.context, norms.norms);
  }
}

void ReadProofs(ByteReader& reader, const Rings& rings, size_t templates,
                std::vector<ckks::Ciphertext>* proofs, std::vector<BatchNorms>* batch) {
  const uint8_t bulk = reader.U8();
  if (bulk > 1) reader.Fail("neither single templates nor a batch");
  if (bulk == 1 && templates > rings.enrolment.params().slots()) reader.Fail("too large a batch");
  for (size_t i = 0; i < kNormProofs && bulk == 1 && reader.ok(); ++i) {
    BatchNorms norms;
    norms.sigma = reader.F64();
    norms.norms = ckks::ReadCiphertext(reader, *rings.enrolment.context);
    batch->push_back(std::move(norms));
  }
  for (size_t i = 0; i < kNormProofs * templates && bulk == 0 && reader.ok(); ++i) {
    proofs->push_back(ckks::ReadCiphertext(reader, *rings.matching.context));
  }
}

absl::Status CheckRequestId(const ckks::Params& params, const GalleryBinding& binding,
                            std::string_view what) {
  return CheckParamsId(params, binding.params_id, what);
}

}  // namespace

std::vector<uint8_t> SerializeAdmissionRequest(const Rings& rings,
                                               const AdmissionRequest& request) {
  ByteWriter writer;
  WriteBinding(writer, request.binding);
  ckks::WriteId(writer, request.gallery);
  writer.U64(request.generation);
  WriteDigest(writer, request.root);
  writer.U64(request.more);
  WriteBytes(writer, request.head);
  writer.U64(request.enrolments.size());
  for (const EnrolmentCheck& e : request.enrolments) {
    WriteDigest(writer, e.entry);
    WriteTemplates(writer, e.templates);
    WriteFlags(writer, e.known);
    for (const uint32_t others : e.others) writer.U32(others);
    writer.Raw(e.client);
    WriteBytes(writer, e.authorisation);
    WriteProofs(writer, rings, e.proofs, e.batch);
  }
  return SealEnvelope(kAdmissionRequestKind, kRequestVersion, writer.bytes());
}

absl::StatusOr<AdmissionRequest> ParseAdmissionRequest(const Rings& rings, ByteSpan bytes,
                                                       std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kAdmissionRequestKind, kRequestVersion, what));
  ByteReader reader(payload, what);
  AdmissionRequest request;
  request.binding = ReadBinding(reader);
  request.gallery = ckks::ReadId(reader);
  request.generation = reader.U64();
  request.root = ReadDigest(reader);
  request.more = reader.U64();
  request.head = ReadBytes(reader, kMaxHeadBytes);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_RETURN_IF_ERROR(CheckRequestId(rings.matching.params(), request.binding, what));
  const uint64_t count = reader.Count(sizeof(Digest), kMaxEnrolments);
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    EnrolmentCheck e;
    e.entry = ReadDigest(reader);
    e.templates = ReadTemplates(reader);
    e.known = ReadFlags(reader, e.templates.size());
    e.others.resize(e.templates.size());
    for (uint32_t& others : e.others) others = reader.U32();
    e.client = ReadDigest(reader);
    e.authorisation = ReadBytes(reader, kMaxAuthorisation);
    ReadProofs(reader, rings, e.templates.size(), &e.proofs, &e.batch);
    request.enrolments.push_back(std::move(e));
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return request;
}

std::vector<uint8_t> SerializeAdmission(const Admission& admission) {
  ByteWriter writer;
  WriteBinding(writer, admission.binding);
  ckks::WriteId(writer, admission.gallery);
  writer.U64(admission.generation);
  WriteDigest(writer, admission.root);
  WriteBytes(writer, admission.head);
  writer.U64(admission.enrolments.size());
  for (const Admission::Enrolment& e : admission.enrolments) {
    WriteDigest(writer, e.entry);
    writer.U64(e.approved.size());
    WriteFlags(writer, e.approved);
  }
  return SealEnvelope(kAdmissionKind, kRequestVersion, writer.bytes());
}

absl::StatusOr<Admission> ParseAdmission(ByteSpan bytes, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kAdmissionKind, kRequestVersion, what));
  ByteReader reader(payload, what);
  Admission admission;
  admission.binding = ReadBinding(reader);
  admission.gallery = ckks::ReadId(reader);
  admission.generation = reader.U64();
  admission.root = ReadDigest(reader);
  admission.head = ReadBytes(reader, kMaxHeadBytes);
  const uint64_t count = reader.Count(sizeof(Digest), kMaxEnrolments);
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    Admission::Enrolment e;
    e.entry = ReadDigest(reader);
    e.approved = ReadFlags(reader, reader.Count(1, kMaxTemplates));
    admission.enrolments.push_back(std::move(e));
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return admission;
}

std::string StatePath(const std::string& gallery) {
  const auto address = ParseAddress(gallery);
  if (!address.ok()) return gallery + "/state.heft";
  const bool named = address->name != kDefaultName;
  return absl::StrCat(address->folder, "/", named ? address->name + "." : "", "state.heft");
}

namespace {

// KeptGeneration: of a kept admission that can be read.
std::optional<uint64_t> KeptGeneration(const std::string& path) {
  const auto bytes = ReadFile(path);
  const auto file = bytes.ok() ? Unsigned(*bytes, path) : bytes.status();
  const auto kept = file.ok() ? ParseAdmission(*file, path) : file.status();
  return kept.ok() ? std::optional<uint64_t>(kept->generation) : std::nullopt;
}

}  // namespace

absl::Status KeepState(const std::string& gallery, const Admission& admission, ByteSpan bytes) {
  if (admission.root == Digest{}) return absl::OkStatus();
  const std::string path = StatePath(gallery);
  // The later of two concurrent states stays. No process uses the files that RemoveLeftovers finds.
  HEFT_ASSIGN_OR_RETURN(const FileLock lock,
                        FileLock::Take(FolderOf(gallery) + "/server.lock", 0644));
  if (KeptGeneration(path).value_or(0) > admission.generation) return absl::OkStatus();
  return WriteFileAtomic(path, bytes);
}

absl::Status DropOldState(const std::string& gallery, uint64_t generation) {
  const std::string path = StatePath(gallery);
  if (!FileExists(path)) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const FileLock lock,
                        FileLock::Take(FolderOf(gallery) + "/server.lock", 0644));
  if (KeptGeneration(path).value_or(generation) >= generation) return absl::OkStatus();
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot delete ", path, ": ", std::strerror(errno),
                                             ": allow this user to write to its folder"));
}

std::vector<uint8_t> SerializeProvenEnrolment(const Rings& rings, const GalleryBinding& binding,
                                              const ProvenEnrolment& enrolment) {
  ByteWriter writer;
  const uint32_t version = VersionOf(enrolment.templates);
  WriteBinding(writer, binding);
  WriteTemplates(writer, enrolment.templates);
  if (version >= kWithMeans) WriteParts(writer, enrolment.templates);
  if (version >= kAdmissionVersion) WriteDetails(writer, enrolment.templates);
  WriteBytes(writer, enrolment.authorisation);
  WriteProofs(writer, rings, enrolment.proofs, enrolment.norms);
  for (const ckks::Ciphertext& c : enrolment.fused) {
    ckks::WriteCiphertext(writer, *rings.matching.context, c);
  }
  for (const ckks::Ciphertext& c : enrolment.batch.coordinates) {
    ckks::WriteCiphertext(writer, *rings.enrolment.context, c);
  }
  return SealEnvelope(kPendingKind, version, writer.bytes());
}

absl::StatusOr<ProvenEnrolment> ParseProvenEnrolment(const Rings& rings,
                                                     const GalleryBinding& binding, ByteSpan bytes,
                                                     std::string_view what) {
  uint32_t version = EnvelopeVersion(bytes);
  if (version < kWithoutMeans || version > kAdmissionVersion) version = kAdmissionVersion;
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, kPendingKind, version, what));
  ByteReader reader(payload, what);
  const GalleryBinding of = ReadBinding(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  if (!(of == binding)) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": for another model, key or parameters"));
  }
  ProvenEnrolment out;
  out.templates = ReadTemplates(reader);
  if (version >= kWithMeans) ReadParts(reader, out.templates);
  if (version >= kAdmissionVersion) ReadDetails(reader, out.templates);
  if (reader.ok() && version != VersionOf(out.templates)) {
    reader.Fail("means or metadata are announced, and there are none");
  }
  out.authorisation = ReadBytes(reader, kMaxAuthorisation);
  ReadProofs(reader, rings, out.templates.size(), &out.proofs, &out.norms);
  const bool bulk = !out.norms.empty();
  const size_t ciphertexts = bulk ? binding.gamma : out.templates.size();
  for (size_t i = 0; i < ciphertexts && reader.ok(); ++i) {
    if (bulk) {
      out.batch.coordinates.push_back(ckks::ReadCiphertext(reader, *rings.enrolment.context));
    } else {
      out.fused.push_back(ckks::ReadCiphertext(reader, *rings.matching.context));
    }
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  out.batch.count = bulk ? static_cast<uint32_t>(out.templates.size()) : 0;
  return out;
}

}  // namespace heft
