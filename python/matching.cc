// SPDX-License-Identifier: Apache-2.0
// The server's answers: encrypted scores, signed, of one probe or of many.
#include <pybind11/functional.h>

#include "heft/answering.h"
#include "heft/serving.h"
#include "heft/sharded_gallery.h"
#include "python/values.h"

namespace heft::python {
namespace {

using Class = py::class_<MatcherHandle>;
using Bytes = std::vector<uint8_t>;

// Signing: whether and how replies are signed, and the trust file for requests.
struct Signing {
  bool sign;
  std::string audience;
  uint64_t life;
  std::optional<Trust> trust;
};

// Asked: a request that is about to be answered.
struct Asked {
  Gallery gallery;
  std::optional<IncomingRequest> to_sign;  // none: replies are as they are
  uint64_t life;

  absl::StatusOr<Bytes> Sign(uint64_t row, std::span<const uint8_t> reply) const {
    if (!to_sign) return Bytes(reply.begin(), reply.end());
    return to_sign->SignRow(row, gallery, reply, life);
  }
};

// Begin: as in the tools: with `trust` the signer must be trusted, and a signed request is answered
// once.
absl::StatusOr<Asked> Begin(const MatcherHandle& self, const GalleryHandle& handle,
                            const std::vector<SampleFile>& files, const Signing& signing,
                            uint64_t row) {
  auto newest = handle.Newest();
  if (!newest.ok()) return newest.status();
  Asked asked{*std::move(newest), std::nullopt, signing.life};
  SignerKey audience = self.key_owner();
  if (!signing.audience.empty()) {
    auto key = ParseSignerKey(signing.audience);
    if (!key.ok()) return key.status();
    audience = *key;
  }
  if (!signing.sign && !signing.trust) return asked;
  auto signer = handle.Signer();
  if (!signer.ok()) return signer.status();
  auto request = IncomingRequest::Read(signing.trust ? &*signing.trust : nullptr, audience,
                                       *std::move(signer), files, row);
  if (!request.ok()) return request.status();
  const absl::Status first = request->Take(handle.name());
  if (!first.ok()) return first;
  if (signing.sign) asked.to_sign = *std::move(request);
  return asked;
}

// RowAsked: of files that hold several samples it must be given.
size_t RowAsked(const std::vector<SampleFile>& files, std::optional<size_t> given, bool average) {
  if (!given && !average) Take(CheckOneSample(files));
  return given.value_or(0);
}

py::bytes IdentifyOne(const MatcherHandle& self, const py::object& gallery,
                      const py::object& samples, std::optional<size_t> given, bool average,
                      bool identities, bool relinearise, const py::object& where, bool sign,
                      const std::string& audience, uint64_t life, const std::optional<Trust>& trust,
                      const py::object& progress) {
  const auto server = self.Get();
  const GalleryHandle handle = HandleOf(gallery);
  std::vector<SampleFile> files = SampleFilesOf(samples);
  const size_t row = RowAsked(files, given, average);
  const ProbeOptions options{row, average, identities, relinearise, ConditionsOf(where)};
  const Signing signing{sign, audience, life, trust};
  Watch watch(progress);
  return BytesOf(Call([&]() -> absl::StatusOr<Bytes> {
    const auto asked = Begin(self, handle, files, signing, average ? kAllRows : row);
    if (!asked.ok()) return asked.status();
    const auto reply = server->Identify(asked->gallery, std::move(files), options, watch.monitor());
    if (!reply.ok()) return reply.status();
    return asked->Sign(average ? kAllRows : row, *reply);
  }));
}

// Of every bucket, in their order; the request is one, and answered once.
py::list IdentifyShards(const MatcherHandle& self, const py::object& gallery,
                        const ShardList& shards, const py::object& samples,
                        std::optional<size_t> given, bool average, bool identities,
                        bool relinearise, const py::object& where, const std::string& audience,
                        uint64_t life, const std::optional<Trust>& trust,
                        const py::object& progress) {
  const auto server = self.Get();
  const std::string name = PathOf(gallery);
  const std::vector<SampleFile> files = SampleFilesOf(samples);
  const size_t row = RowAsked(files, given, average);
  const ProbeOptions options{row, average, identities, relinearise, ConditionsOf(where)};
  const Signing signing{/*sign=*/true, audience, life, trust};
  Watch watch(progress);
  std::vector<Bytes> replies;
  Call([&]() -> absl::Status {
    auto buckets = OpenBuckets(name, shards);
    if (!buckets.ok()) return buckets.status();
    const uint64_t which = average ? kAllRows : row;
    const GalleryHandle first(BucketAddress(name, 0));  // one store, one server's key
    auto asked = Begin(self, first, files, signing, which);
    if (!asked.ok()) return asked.status();
    return server->IdentifySigned(
        buckets->size(),
        [&](size_t i) -> absl::StatusOr<Gallery> { return std::move((*buckets)[i]); }, files,
        options, asked->to_sign->Signer(asked->life),
        [&](const Gallery&, Bytes reply) {
          replies.push_back(std::move(reply));
          return absl::OkStatus();
        },
        watch.monitor());
  });
  py::list out;
  for (const Bytes& reply : replies) out.append(BytesOf(reply));
  return out;
}

py::bytes VerifyOne(const MatcherHandle& self, const py::object& gallery, const py::object& samples,
                    const std::string& identity, std::optional<size_t> given, bool average,
                    bool sign, const std::string& audience, uint64_t life,
                    const std::optional<Trust>& trust) {
  const auto server = self.Get();
  const GalleryHandle handle = HandleOf(gallery);
  std::vector<SampleFile> files = SampleFilesOf(samples);
  const size_t row = RowAsked(files, given, average);
  ProbeOptions options;
  options.row = row, options.average = average;
  const Signing signing{sign, audience, life, trust};
  return BytesOf(Call([&]() -> absl::StatusOr<Bytes> {
    const auto asked = Begin(self, handle, files, signing, average ? kAllRows : row);
    if (!asked.ok()) return asked.status();
    const auto reply = server->Verify(asked->gallery, std::move(files), identity, options);
    if (!reply.ok()) return reply.status();
    return asked->Sign(average ? kAllRows : row, *reply);
  }));
}

// AllRows: the replies of `ask`, which calls `use` with the reply of each row; returns a list, or
// passes each reply to a Python function.
template <typename Ask>
py::list AllRows(const MatcherHandle& self, const py::object& gallery, const py::object& samples,
                 const Signing& signing, const py::object& use, Ask ask) {
  const auto server = self.Get();
  const GalleryHandle handle = HandleOf(gallery);
  std::vector<SampleFile> files = SampleFilesOf(samples);
  py::list replies;
  Call([&]() -> absl::Status {
    const auto asked = Begin(self, handle, files, signing, kAllRows);
    if (!asked.ok()) return asked.status();
    return ask(*server, asked->gallery, std::move(files),
               [&](size_t row, std::span<const uint8_t> reply) -> absl::Status {
                 const auto done = asked->Sign(row, reply);
                 if (!done.ok()) return done.status();
                 const py::gil_scoped_acquire acquire;
                 try {
                   if (use.is_none())
                     replies.append(BytesOf(*done));
                   else
                     use(row, BytesOf(*done));
                 } catch (py::error_already_set& e) {
                   Keep(&e);
                   return absl::CancelledError("the function that receives the replies failed");
                 }
                 return absl::OkStatus();
               });
  });
  return replies;
}

py::list IdentifyAll(const MatcherHandle& self, const py::object& gallery,
                     const py::object& samples, const py::object& use, bool identities,
                     bool relinearise, const py::object& where, bool sign,
                     const std::string& audience, uint64_t life, const std::optional<Trust>& trust,
                     const py::object& progress) {
  const ProbeOptions options{0, false, identities, relinearise, ConditionsOf(where)};
  Watch watch(progress);
  return AllRows(
      self, gallery, samples, {sign, audience, life, trust}, use,
      [&](const Server& server, const Gallery& g, std::vector<SampleFile> files, const auto& take) {
        return server.IdentifyAll(g, std::move(files), options, take, watch.monitor());
      });
}

py::list VerifyAll(const MatcherHandle& self, const py::object& gallery, const py::object& samples,
                   const std::string& identity, const py::object& use, bool sign,
                   const std::string& audience, uint64_t life, const std::optional<Trust>& trust,
                   const py::object& progress) {
  Watch watch(progress);
  return AllRows(
      self, gallery, samples, {sign, audience, life, trust}, use,
      [&](const Server& server, const Gallery& g, std::vector<SampleFile> files, const auto& take) {
        return server.VerifyAll(g, std::move(files), identity, take, watch.monitor());
      });
}

// An answer to each probe: bytes, or the error in its place.
py::list IdentifyTogether(const MatcherHandle& self, const py::object& gallery,
                          const py::object& probes, bool sign, const std::string& audience,
                          uint64_t life, const std::optional<Trust>& trust) {
  const auto server = self.Get();
  const GalleryHandle handle = HandleOf(gallery);
  const Signing signing{sign, audience, life, trust};
  std::vector<std::vector<SampleFile>> requests;
  for (const py::handle probe : py::iter(probes)) requests.push_back(SampleFilesOf(probe));
  std::vector<absl::StatusOr<Bytes>> replies(requests.size(), absl::UnknownError(""));
  Call([&]() -> absl::Status {
    const auto newest = handle.Newest();
    if (!newest.ok()) return newest.status();
    std::vector<std::optional<Asked>> asked(requests.size());
    std::vector<ProbeRequest> together;
    std::vector<size_t> places;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (const absl::Status one = CheckOneSample(requests[i]); !one.ok()) {
        replies[i] = one;
        continue;
      }
      auto one = Begin(self, handle, requests[i], signing, 0);
      replies[i] = one.ok() ? absl::UnknownError("") : one.status();
      if (!one.ok()) continue;
      asked[i].emplace(*std::move(one));
      together.push_back({std::move(requests[i])});
      places.push_back(i);
    }
    auto answers = server->IdentifyTogether(*newest, std::move(together));
    for (size_t i = 0; i < places.size(); ++i) {
      replies[places[i]] = answers[i].ok() ? asked[places[i]]->Sign(0, *answers[i])
                                           : absl::StatusOr<Bytes>(answers[i].status());
    }
    return absl::OkStatus();
  });
  py::list out;
  for (const auto& reply : replies) {
    out.append(reply.ok() ? py::object(BytesOf(*reply)) : ErrorOf(reply.status()));
  }
  return out;
}

constexpr char kIdentify[] =
    "1:N: returns the encrypted scores of a probe against every template, as bytes for the\n"
    "key owner.\n\n"
    "samples: as for enrol, with use \"identification\". row: the sample to use, if the files\n"
    "hold several. average: all samples are of one person and form one probe. identities: the\n"
    "reply names the templates. relinearise=False: less work, three times the bytes. where:\n"
    "conditions on metadata; only templates that meet all of them are searched\n"
    "(\"site=berlin\", \"list=a|b\", \"age=18..30\").\n\n"
    "The reply is signed with the gallery's server key (Gallery.server_key), valid for life\n"
    "seconds, for audience (a public key; default: the signer of the matcher's keys);\n"
    "sign=False leaves it unsigned. trust: if it lists clients, one of them must have signed\n"
    "the request; a signed request is answered once. NotFound, FailedPrecondition, DataLoss,\n"
    "InvalidArgument, Cancelled.";

}  // namespace

void DefineMatching(py::module_& m) {
  auto c = m.attr("Matcher").cast<Class>();
  Method(c, "identify", &IdentifyOne, kIdentify, py::arg("gallery"), py::arg("samples"),
         py::kw_only(), py::arg("row") = py::none(), py::arg("average") = false,
         py::arg("identities") = true, py::arg("relinearise") = true, py::arg("where") = py::none(),
         py::arg("sign") = true, py::arg("audience") = "", py::arg("life") = kLife,
         py::arg("trust") = py::none(), py::arg("progress") = py::none());
  Method(c, "identify_shards", &IdentifyShards,
         "As identify, in a gallery in buckets (ShardList) of one store: returns the signed\n"
         "replies of all buckets, for KeyOwner.open and decide with shards=. Errors as identify's.",
         py::arg("gallery"), py::arg("shards"), py::arg("samples"), py::kw_only(),
         py::arg("row") = py::none(), py::arg("average") = false, py::arg("identities") = true,
         py::arg("relinearise") = true, py::arg("where") = py::none(), py::arg("audience") = "",
         py::arg("life") = kLife, py::arg("trust") = py::none(), py::arg("progress") = py::none());
  Method(
      c, "identify_all", &IdentifyAll,
      "As identify, for every sample of the files, which must hold equally many; the gallery is\n"
      "read once for up to 64 samples. Returns a list of replies, or calls use(row, reply) for\n"
      "each.",
      py::arg("gallery"), py::arg("samples"), py::kw_only(), py::arg("use") = py::none(),
      py::arg("identities") = true, py::arg("relinearise") = true, py::arg("where") = py::none(),
      py::arg("sign") = true, py::arg("audience") = "", py::arg("life") = kLife,
      py::arg("trust") = py::none(), py::arg("progress") = py::none());
  Method(c, "identify_together", &IdentifyTogether,
         "As identify, for several probes, each with its own samples. Returns a list with a reply\n"
         "for each probe, or the heft.Error of a failed one; the others are answered.",
         py::arg("gallery"), py::arg("probes"), py::kw_only(), py::arg("sign") = true,
         py::arg("audience") = "", py::arg("life") = kLife, py::arg("trust") = py::none());
  Method(c, "verify", &VerifyOne,
         "1:1: returns the encrypted scores against the templates of the claimed identity. The\n"
         "reply does not tell whether the identity is enrolled. samples have use \"enrolment\".\n"
         "The rest is as for identify.",
         py::arg("gallery"), py::arg("samples"), py::arg("identity"), py::kw_only(),
         py::arg("row") = py::none(), py::arg("average") = false, py::arg("sign") = true,
         py::arg("audience") = "", py::arg("life") = kLife, py::arg("trust") = py::none());
  Method(c, "verify_all", &VerifyAll,
         "As verify, for every sample of the files, which must hold equally many, as for\n"
         "identify_all.",
         py::arg("gallery"), py::arg("samples"), py::arg("identity"), py::kw_only(),
         py::arg("use") = py::none(), py::arg("sign") = true, py::arg("audience") = "",
         py::arg("life") = kLife, py::arg("trust") = py::none(), py::arg("progress") = py::none());
}

}  // namespace heft::python
