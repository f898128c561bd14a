// SPDX-License-Identifier: Apache-2.0
// The server's answers: encrypted scores, signed, of one probe or of many.
#include <pybind11/functional.h>

#include "heft/desk.h"
#include "python/values.h"

namespace heft::python {
namespace {

using Bytes = std::vector<uint8_t>;

// Signed: whether and how replies are signed, and the trust file for requests.
struct Signed {
  bool sign;
  std::string audience;
  uint64_t life;
  std::optional<Trust> trust;
};

// Counter: the desk of a matcher, for a gallery of this handle or for others.
struct Counter {
  Counter(const MatcherHandle& self, std::optional<GalleryHandle> at, Signed how)
      : server(self.Get()),
        gallery(std::move(at)),
        signing(std::move(how)),
        whom(self.key_owner()) {
    if (!signing.audience.empty()) whom = Take(ParseSignerKey(signing.audience));
  }
  Desk desk() const {
    const Desk plain(*server, signing.trust ? &*signing.trust : nullptr, whom);
    return gallery ? gallery->At(plain) : plain;
  }
  MatchRequest Request(const std::string& of, std::vector<SampleFile> files,
                       ProbeOptions probe) const {
    MatchRequest request;
    request.gallery = of;
    request.files = std::move(files);
    request.probe = std::move(probe);
    request.sign = signing.sign;
    request.life = signing.life;
    return request;
  }

  const std::shared_ptr<Server> server;
  const std::optional<GalleryHandle> gallery;
  const Signed signing;
  SignerKey whom;
};

// Answer: the replies of the desk, all at once.
std::vector<Bytes> Answer(const Counter& counter, MatchRequest request,
                          const py::object& progress) {
  Watch watch(progress);
  std::vector<Bytes> replies;
  Call([&]() -> absl::Status {
    const auto keep = [&](SignedReply reply) {
      replies.push_back(std::move(reply.bytes));
      return absl::OkStatus();
    };
    const bool verify = request.claimed.has_value();
    const Desk desk = counter.desk();
    return (verify ? desk.Verify(std::move(request), keep, watch.monitor())
                   : desk.Identify(std::move(request), keep, watch.monitor()))
        .status();
  });
  return replies;
}

py::bytes IdentifyOne(const MatcherHandle& self, const py::object& gallery,
                      const py::object& samples, std::optional<uint64_t> row, bool average,
                      bool identities, bool relinearise, const py::object& where, bool sign,
                      const std::string& audience, uint64_t life, const std::optional<Trust>& trust,
                      const py::object& progress) {
  const GalleryHandle handle = HandleOf(gallery);
  const Counter counter(self, handle, {sign, audience, life, trust});
  MatchRequest request =
      counter.Request(handle.name(), SampleFilesOf(samples),
                      {0, average, identities, relinearise, ConditionsOf(where)});
  request.row = row;
  return BytesOf(Answer(counter, std::move(request), progress).at(0));
}

// Of every bucket, in their order; the request is one, and answered once.
py::list IdentifyShards(const MatcherHandle& self, const py::object& gallery,
                        const ShardList& shards, const py::object& samples,
                        std::optional<uint64_t> row, bool average, bool identities,
                        bool relinearise, const py::object& where, const std::string& audience,
                        uint64_t life, const std::optional<Trust>& trust,
                        const py::object& progress) {
  const Counter counter(self, std::nullopt, {/*sign=*/true, audience, life, trust});
  MatchRequest request =
      counter.Request(PathOf(gallery), SampleFilesOf(samples),
                      {0, average, identities, relinearise, ConditionsOf(where)});
  request.shards = shards;
  request.row = row;
  py::list out;
  for (const Bytes& reply : Answer(counter, std::move(request), progress)) {
    out.append(BytesOf(reply));
  }
  return out;
}

py::bytes VerifyOne(const MatcherHandle& self, const py::object& gallery, const py::object& samples,
                    const std::string& identity, std::optional<uint64_t> row, bool average,
                    bool sign, const std::string& audience, uint64_t life,
                    const std::optional<Trust>& trust) {
  const GalleryHandle handle = HandleOf(gallery);
  const Counter counter(self, handle, {sign, audience, life, trust});
  MatchRequest request =
      counter.Request(handle.name(), SampleFilesOf(samples), {.average = average});
  request.claimed = identity;
  request.row = row;
  return BytesOf(Answer(counter, std::move(request), py::none()).at(0));
}

// AllRows: a list of the replies of each row, or passes each reply to a Python function.
py::list AllRows(const Counter& counter, MatchRequest request, const py::object& use,
                 const py::object& progress) {
  Watch watch(progress);
  request.all = true;
  py::list replies;
  Call([&]() -> absl::Status {
    const auto take = [&](const SignedReply& reply) -> absl::Status {
      const py::gil_scoped_acquire acquire;
      try {
        if (use.is_none()) {
          replies.append(BytesOf(reply.bytes));
        } else {
          use(reply.number, BytesOf(reply.bytes));
        }
      } catch (py::error_already_set& e) {
        Keep(&e);
        return absl::CancelledError("the function that receives the replies failed");
      }
      return absl::OkStatus();
    };
    const bool verify = request.claimed.has_value();
    const Desk desk = counter.desk();
    return (verify ? desk.Verify(std::move(request), take, watch.monitor())
                   : desk.Identify(std::move(request), take, watch.monitor()))
        .status();
  });
  return replies;
}

py::list IdentifyAll(const MatcherHandle& self, const py::object& gallery,
                     const py::object& samples, const py::object& use, bool identities,
                     bool relinearise, const py::object& where, bool sign,
                     const std::string& audience, uint64_t life, const std::optional<Trust>& trust,
                     const py::object& progress) {
  const GalleryHandle handle = HandleOf(gallery);
  const Counter counter(self, handle, {sign, audience, life, trust});
  return AllRows(counter,
                 counter.Request(handle.name(), SampleFilesOf(samples),
                                 {0, false, identities, relinearise, ConditionsOf(where)}),
                 use, progress);
}

py::list VerifyAll(const MatcherHandle& self, const py::object& gallery, const py::object& samples,
                   const std::string& identity, const py::object& use, bool sign,
                   const std::string& audience, uint64_t life, const std::optional<Trust>& trust,
                   const py::object& progress) {
  const GalleryHandle handle = HandleOf(gallery);
  const Counter counter(self, handle, {sign, audience, life, trust});
  MatchRequest request = counter.Request(handle.name(), SampleFilesOf(samples), {});
  request.claimed = identity;
  return AllRows(counter, std::move(request), use, progress);
}

// An answer to each probe: bytes, or the error in its place.
py::list IdentifyTogether(const MatcherHandle& self, const py::object& gallery,
                          const py::object& probes, bool sign, const std::string& audience,
                          uint64_t life, const std::optional<Trust>& trust) {
  const GalleryHandle handle = HandleOf(gallery);
  const Counter counter(self, handle, {sign, audience, life, trust});
  std::vector<MatchRequest> requests;
  for (const py::handle probe : py::iter(probes)) {
    requests.push_back(counter.Request(handle.name(), SampleFilesOf(probe), {}));
  }
  const auto replies =
      Call([&] { return counter.desk().IdentifyTogether(handle.name(), std::move(requests)); });
  py::list out;
  for (const auto& reply : replies) {
    out.append(reply.ok() ? py::object(BytesOf(reply->bytes)) : ErrorOf(reply.status()));
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
  auto c = m.attr("Matcher").cast<MatcherClass>();
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
