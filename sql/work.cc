// SPDX-License-Identifier: Apache-2.0
// The work of each function, in its job.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bytes.h"
#include "heft/base.h"
#include "heft/desk.h"
#include "heft/gallery.h"
#include "heft/gallery_admin.h"
#include "heft/server.h"
#include "sql/backend_store.h"
#include "sql/job.h"
#include "sql/records.h"
#include "sql/servers.h"
#include "sql/spi_session.h"

namespace heft::sql {
namespace {

// Call: a function's arguments, in the job's own memory.
struct Call {
  HeftWork work;
  std::string gallery, address;
  std::vector<std::string> galleries;
  std::vector<std::vector<uint8_t>> files;
  std::string text, key;
  std::vector<uint8_t> bytes;
  std::vector<std::string> more;
  uint64_t expires = 0;
  bool flag = false;
};

std::string TextOf(const HeftValue& value) {
  return std::string(static_cast<const char*>(value.data), value.size);
}
std::vector<uint8_t> BytesOf(const HeftValue& value) {
  const auto* const data = static_cast<const uint8_t*>(value.data);
  return {data, data + value.size};
}

Call CallOf(const HeftCall& call) {
  Call out;
  out.work = call.work;
  out.gallery = call.gallery;
  for (int i = 0; i < call.files_count; ++i) out.files.push_back(BytesOf(call.files[i]));
  out.text = TextOf(call.text);
  out.key = TextOf(call.key);
  out.bytes = BytesOf(call.bytes);
  for (int i = 0; i < call.more_count; ++i) out.more.push_back(TextOf(call.more[i]));
  out.expires = static_cast<uint64_t>(call.expires);
  out.flag = call.flag;
  for (int i = 0; i < call.galleries_count; ++i) {
    out.galleries.push_back(TextOf(call.galleries[i]));
  }
  out.address = AddressOf(out.gallery);
  return out;
}

// Files: in the library's form, with names for errors.
std::vector<SampleFile> FilesOf(Call* call) {
  std::vector<SampleFile> files;
  for (std::vector<uint8_t>& bytes : call->files) {
    std::string name = absl::StrCat("file ", files.size() + 1);
    files.push_back({std::move(bytes), std::move(name)});
  }
  return files;
}

Monitor MonitorOf(const HeftJob& job) {
  return [&job](const ProgressEvent&) { return !job.Stopped(); };
}

absl::StatusOr<std::shared_ptr<const TrustedServer>> ServerOf(const std::string& gallery) {
  HEFT_ASSIGN_OR_RETURN(const auto session, ConnectSpi());
  return FindServer(*session, gallery, LocalFolder() + "/keys");
}

// DeskOf: a desk that sees galleries in the state that the query sees.
Desk DeskOf(const TrustedServer& server) {
  Desk desk(server);
  desk.open = OpenGallery;
  return desk;
}

absl::Status CreateOne(Call* call, HeftJob& job) {
  if (call->files.size() < 2) return absl::InvalidArgumentError("model and keys are needed");
  GalleryFiles files;
  files.model = call->files[0];
  files.evaluation_keys = call->files[1];
  if (call->files.size() > 2) files.enrolment_keys = call->files[2];
  files.trust = call->text;
  HEFT_ASSIGN_OR_RETURN(const auto server, MakeServer(files));
  HEFT_ASSIGN_OR_RETURN(const auto session, ConnectSpi());
  HEFT_RETURN_IF_ERROR(RegisterGallery(*session, call->gallery, call->key, files));
  HEFT_ASSIGN_OR_RETURN(const GalleryId id, DeskOf(*server).Create(call->address));
  job.Return({HexString(id)});
  return absl::OkStatus();
}

absl::StatusOr<EnrolOptions> EnrolOptionsOf(const Call& call) {
  EnrolOptions options;
  options.identity = call.text;
  options.authorisation = call.bytes;
  options.expires = call.expires;
  options.idempotency_key = call.key;
  HEFT_ASSIGN_OR_RETURN(options.metadata, ParseMetadata(call.more));
  return options;
}

absl::Status Enrol(Call* call, HeftJob& job) {
  HEFT_ASSIGN_OR_RETURN(const auto server, ServerOf(call->gallery));
  EnrolRequest request = {.gallery = call->address, .files = FilesOf(call)};
  HEFT_ASSIGN_OR_RETURN(request.options, EnrolOptionsOf(*call));
  HEFT_ASSIGN_OR_RETURN(const EnrolResult done,
                        DeskOf(*server).Enrol(std::move(request), MonitorOf(job)));
  job.Return(RowOf(done));
  return absl::OkStatus();
}

absl::Status Pending(Call* call, HeftJob& job) {
  HEFT_ASSIGN_OR_RETURN(const auto server, ServerOf(call->gallery));
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, DeskOf(*server).Pending(call->address));
  job.Return({std::move(bytes)});
  return absl::OkStatus();
}

absl::Status Activate(Call* call, HeftJob& job) {
  HEFT_ASSIGN_OR_RETURN(const auto server, ServerOf(call->gallery));
  HEFT_ASSIGN_OR_RETURN(
      const ActivateResult done,
      DeskOf(*server).Activate(call->address, call->bytes, "the admission", MonitorOf(job)));
  job.Return(RowOf(done));
  return absl::OkStatus();
}

absl::StatusOr<MatchRequest> MatchRequestOf(Call* call) {
  MatchRequest request = {.gallery = call->address, .files = FilesOf(call), .complete = true};
  request.probe.with_identities = call->flag;
  HEFT_ASSIGN_OR_RETURN(request.probe.where, ParseConditions(call->more));
  return request;
}

absl::Status Verify(Call* call, HeftJob& job) {
  HEFT_ASSIGN_OR_RETURN(const auto server, ServerOf(call->gallery));
  MatchRequest request = {
      .gallery = call->address, .files = FilesOf(call), .claimed = call->text, .complete = true};
  const auto give = [&job](SignedReply reply) {
    job.Return({std::move(reply.bytes)});
    return absl::OkStatus();
  };
  return DeskOf(*server).Verify(std::move(request), give, MonitorOf(job)).status();
}

// CheckAlike: checks that galleries have the same model, keys and trust file.
absl::Status CheckAlike(const Call& call, const TrustedServer* server) {
  for (const std::string& name : call.galleries) {
    HEFT_ASSIGN_OR_RETURN(const auto its, ServerOf(name));
    if (its.get() == server) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        name, " has another model, other keys or another trust file than ", call.gallery));
  }
  return absl::OkStatus();
}

// Identify: one probe, with a reply of each gallery, all of one state of the database. It is one
// request, which all of them together answer once.
absl::Status Identify(Call* call, HeftJob& job) {
  HEFT_ASSIGN_OR_RETURN(const auto server, ServerOf(call->gallery));
  HEFT_RETURN_IF_ERROR(CheckAlike(*call, server.get()));
  HEFT_ASSIGN_OR_RETURN(MatchRequest request, MatchRequestOf(call));
  const bool many = call->work == HEFT_IDENTIFY_MANY;
  for (size_t i = 1; many && i < call->galleries.size(); ++i) {
    request.others.push_back(AddressOf(call->galleries[i]));
  }
  const auto give = [&](SignedReply reply) {
    if (many) {
      job.Return({call->galleries[reply.number], HexString(reply.gallery),
                  static_cast<int64_t>(reply.generation), std::move(reply.bytes)});
    } else {
      job.Return({std::move(reply.bytes)});
    }
    return absl::OkStatus();
  };
  return DeskOf(*server).Identify(std::move(request), give, MonitorOf(job)).status();
}

absl::Status RemoveSome(Call* call, HeftJob& job) {
  HEFT_ASSIGN_OR_RETURN(const auto server, ServerOf(call->gallery));
  HEFT_ASSIGN_OR_RETURN(const RemoveResult done,
                        DeskOf(*server).Remove(call->address, call->more, call->bytes));
  job.Return(RowOf(done));
  return absl::OkStatus();
}

absl::Status Stats(Call* call, HeftJob& job) {
  HEFT_ASSIGN_OR_RETURN(const GalleryInfo info, DescribeGallery(call->address));
  job.Return(RowOf(info));
  return absl::OkStatus();
}

absl::Status List(Call* call, HeftJob& job) {
  const ListOptions all = {.pending = true};
  const auto use = [&](const ListedTemplate& t) {
    std::vector<std::string> metadata;
    for (const MetadataPair& pair : t.metadata) metadata.push_back(pair.key + "=" + pair.value);
    const bool pending = t.state == TemplateState::kPending;
    job.Return({t.identity, TimeOf(t.enrolled), TemplateStateName(t.state), TimeOf(t.expires),
                pending ? Field(Null()) : Field(static_cast<int64_t>(t.position)),
                absl::StrJoin(metadata, " ")});
    return absl::OkStatus();
  };
  return ListTemplates(call->address, all, use).status();
}

absl::Status ServerKey(Call* call, HeftJob& job) {
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, GallerySigner(call->address));
  job.Return({HexString(signer.public_key())});
  return absl::OkStatus();
}

absl::Status Do(Call* call, HeftJob& job) {
  switch (call->work) {
    case HEFT_CREATE_GALLERY:
      return CreateOne(call, job);
    case HEFT_ENROL:
      return Enrol(call, job);
    case HEFT_PENDING:
      return Pending(call, job);
    case HEFT_ADMIT:
      return Activate(call, job);
    case HEFT_IDENTIFY:
    case HEFT_IDENTIFY_MANY:
      return Identify(call, job);
    case HEFT_VERIFY:
      return Verify(call, job);
    case HEFT_REMOVE:
      return RemoveSome(call, job);
    case HEFT_STATS:
      return Stats(call, job);
    case HEFT_LIST:
      return List(call, job);
    case HEFT_SERVER_KEY:
      return ServerKey(call, job);
  }
  return absl::InternalError("an unknown function");
}

}  // namespace
}  // namespace heft::sql

extern "C" HeftJob* heft_job_start(const HeftCall* call, const HeftSettings* settings) {
  using heft::sql::Call;
  try {
    heft::SetThreadCount(settings->threads);
    heft::SetWriterWait(settings->writer_wait);
    heft::sql::UseBackendStore(settings->state_directory, settings->database,
                               static_cast<uint64_t>(settings->cache_bytes));
    auto copy = std::make_shared<Call>(heft::sql::CallOf(*call));
    return new HeftJob([copy](HeftJob& job) { return heft::sql::Do(copy.get(), job); });
  } catch (...) {
    return nullptr;
  }
}
