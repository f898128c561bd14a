// SPDX-License-Identifier: Apache-2.0
// persons and encounters: enrolment, and the list of people. A person is an identity of the
// library; an encounter is one enrolment, whose id is stored in the clear beside its templates.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bytes.h"
#include "base/csprng.h"
#include "base/identity.h"
#include "base/status.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"
#include "heft/server.h"
#include "service/json.h"
#include "service/matcher/decider_link.h"
#include "service/matcher/samples.h"
#include "service/matcher/started_requests.h"
#include "service/matcher/state.h"
#include "service/matcher/stored_answers.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

// kEncounterKey: the metadata key of an encounter's id. Requests cannot set it.
constexpr char kEncounterKey[] = "heft.encounter";
constexpr uint64_t kMaxPersons = 1000;
constexpr uint64_t kMaxScanned = 100000;  // of a page that looks for names
constexpr size_t kMaxGalleries = 16;      // of one enrolment
constexpr uint64_t kLongestWait = 300;    // seconds, of ?wait=

// EncounterId: the same for a repetition of a request with an idempotency key.
std::string EncounterId(const HttpRequest& request, const std::string& key) {
  std::array<uint8_t, 16> id;
  if (key.empty()) {
    Csprng().Fill(id);
  } else {
    const std::string text =
        absl::StrCat(request.who.name, "\n", request.Parameter("person"), "\n", key);
    const Hash hash = HashBytes(AsBytes(text));
    std::copy_n(hash.begin(), id.size(), id.begin());
  }
  return HexString(id);
}

// Enrolling: an enrolment request.
struct Enrolling {
  std::string person, encounter;
  std::vector<std::string> galleries;
  SampleRequest samples;
  EnrolOptions options;
};

absl::StatusOr<Enrolling> ReadEnrolling(MatcherState* state, const HttpRequest& request) {
  Enrolling in;
  in.person = request.Parameter("person");
  HEFT_RETURN_IF_ERROR(CheckIdentity(in.person));
  HEFT_ASSIGN_OR_RETURN(
      in.samples, ReadSampleRequest(request, {"encounterId", "encounterType", "status", "galleries",
                                              "metadata", "expires", "average", "all_pairs"}));
  const Json& more = in.samples.more;
  HEFT_ASSIGN_OR_RETURN(in.galleries, TextsOf(more, "galleries"));
  std::ranges::sort(in.galleries);
  if (in.galleries.empty() || in.galleries.size() > kMaxGalleries ||
      std::ranges::adjacent_find(in.galleries) != in.galleries.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("galleries: name 1 to ", kMaxGalleries, " different ones"));
  }
  for (const std::string& gallery : in.galleries) {
    HEFT_RETURN_IF_ERROR(state->galleries.Newest(gallery).status());
  }
  HEFT_ASSIGN_OR_RETURN(in.options.metadata, MetadataOf(more, "metadata"));
  for (const MetadataPair& pair : in.options.metadata) {
    if (pair.key == kEncounterKey) {
      return absl::InvalidArgumentError(
          absl::StrCat("metadata: ", kEncounterKey, " is the service's own"));
    }
  }
  HEFT_ASSIGN_OR_RETURN(const std::string expires, TextOf(more, "expires"));
  HEFT_ASSIGN_OR_RETURN(in.options.expires, ParseExpiry(expires, UnixTime()));
  HEFT_ASSIGN_OR_RETURN(in.options.average, FlagOf(more, "average", false));
  HEFT_ASSIGN_OR_RETURN(in.options.all_pairs, FlagOf(more, "all_pairs", false));
  HEFT_ASSIGN_OR_RETURN(const std::string key, IdempotencyKeyOf(request));
  in.encounter = EncounterId(request, key);
  in.options.metadata.push_back({kEncounterKey, in.encounter});
  HEFT_RETURN_IF_ERROR(CheckMetadata(in.options.metadata));
  in.options.identity = in.person;
  in.options.authorisation = in.samples.authorisation;
  // The same key of two principals means two requests.
  if (!key.empty()) in.options.idempotency_key = absl::StrCat(request.who.name, "\n", key);
  return in;
}

Json Outcome(const std::string& gallery, const EnrolResult& done) {
  Json json = {{"gallery", gallery}};
  json.update(RecordJson(done));
  return json;
}

// WhatIsEnrolled: a repetition has the same principal, key, person, galleries and files.
Hash WhatIsEnrolled(const Enrolling& in) {
  std::vector<std::span<const uint8_t>> files;
  for (const SampleFile& file : in.samples.files) files.emplace_back(file.bytes);
  const std::string text = absl::StrCat(
      "HEFT enrolment\n", in.options.idempotency_key.size(), "\n", in.options.idempotency_key, "\n",
      in.person, "\n", absl::StrJoin(in.galleries, "\n"), "\n", HexString(FilesDigest(files)));
  return HashBytes(AsBytes(text));
}

// Enrols in one gallery after the other; a gallery that has the enrolment reports it again.
absl::StatusOr<Json> EnrolEach(MatcherState* state, const HttpRequest& request,
                               const Enrolling& in) {
  const auto engine = state->engine.Get();
  if (!engine->enrols) {
    return absl::FailedPreconditionError(
        "this service has no keys for enrolment ([keys] enrolment)");
  }
  const Hash what = WhatIsEnrolled(in);
  const StartedRequests started(state->config.state, "enrolments");
  // A signed request is recorded once. After a failure it may be repeated.
  const bool may_repeat = !in.options.idempotency_key.empty() &&
                          std::ranges::any_of(in.samples.files, [](const SampleFile& file) {
                            return IsSigned(file.bytes);
                          });
  const bool again = may_repeat && started.Has(what);
  bool taken = false;
  const auto begin = [&]() -> absl::Status {
    if (taken) return absl::OkStatus();
    if (may_repeat && !again) {
      if (const absl::Status kept = started.Begin(what); !kept.ok()) {
        LogLine(LogLevel::kWarning, "if this enrolment fails, it cannot be repeated",
                {{"person", in.person}, {"why", std::string(kept.message())}});
      }
    }
    HEFT_RETURN_IF_ERROR(Intend(state, request,
                                {{"operation", "enrol"},
                                 {"person", in.person},
                                 {"encounter", in.encounter},
                                 {"galleries", in.galleries}}));
    taken = true;
    return absl::OkStatus();
  };
  Json outcomes = Json::array();
  for (const std::string& gallery : in.galleries) {
    EnrolRequest one = {.gallery = "", .files = in.samples.files, .options = in.options};
    HEFT_ASSIGN_OR_RETURN(one.gallery, state->galleries.Address(gallery));
    one.options.client = ClientOf(request.who.name);
    one.recorded = taken || again;
    one.begin = begin;
    const auto done = state->galleries.DeskOf(*engine).Enrol(std::move(one));
    if (!done.ok()) {
      std::string why(done.status().message());
      if (taken && !outcomes.empty()) {
        absl::StrAppend(&why, "; the galleries before ", gallery,
                        " (in alphabetical order) have it: repeat with the same Idempotency-Key "
                        "for the others");
      }
      absl::Status refused(done.status().code(), why);
      // A full store of pending enrolments or log of requests stays full for hours.
      if (absl::IsResourceExhausted(refused)) refused.SetPayload(kSpent, absl::Cord());
      return refused;
    }
    outcomes.push_back(Outcome(gallery, *done));
  }
  started.End(what);
  return outcomes;
}

bool HasEncounter(const PersonInfo& info, const std::string& encounter) {
  return std::ranges::any_of(info.templates, [&](const ListedTemplate& t) {
    return std::ranges::count(t.metadata, MetadataPair{kEncounterKey, encounter}) > 0;
  });
}

// StatusOf: the status of an encounter: "active" if it is in all these galleries, "pending" while
// it is pending in one, otherwise "rejected".
absl::StatusOr<std::string> StatusOf(MatcherState* state, const Enrolling& in) {
  bool active = true, pending = false;
  for (const std::string& gallery : in.galleries) {
    HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(gallery));
    HEFT_ASSIGN_OR_RETURN(const PersonInfo info, DescribePerson(address, in.person));
    const bool there = HasEncounter(info, in.encounter);
    active = active && there;
    pending = pending || (!there && info.pending > 0);
  }
  return active ? "active" : pending ? "pending" : "rejected";
}

// CheckReplaces: the authorisation must be for replacing. With one for adding, the person's old
// template would stay.
absl::Status CheckReplaces(MatcherState* state, const Enrolling& in) {
  if (in.samples.authorisation.empty()) {
    return absl::FailedPreconditionError(
        "replacing a person needs a registrar's authorisation (heft authorise --act replace)");
  }
  const auto engine = state->engine.Get();
  for (const std::string& gallery : in.galleries) {
    HEFT_ASSIGN_OR_RETURN(const Gallery newest, state->galleries.Newest(gallery));
    HEFT_RETURN_IF_ERROR(CheckAuthorised(in.samples.authorisation, *engine->trust,
                                         AuthorisedAct::kReplace, newest.id(), in.person));
  }
  return absl::OkStatus();
}

absl::StatusOr<HttpResponse> Enrol(MatcherState* state, const HttpRequest& request, bool replace) {
  HEFT_ASSIGN_OR_RETURN(const uint64_t wait, QueryNumber(request, "wait", 0, kLongestWait));
  HEFT_ASSIGN_OR_RETURN(Enrolling in, ReadEnrolling(state, request));
  if (replace) HEFT_RETURN_IF_ERROR(CheckReplaces(state, in));
  const auto until =
      std::min(request.deadline, std::chrono::steady_clock::now() + std::chrono::seconds(wait));
  uint64_t seen = state->exchange.Changes();
  Json outcomes;
  {
    if (!state->changes.TryTake()) return absl::ResourceExhaustedError(kManyChanges);
    const Leave leave{&state->changes};
    HEFT_ASSIGN_OR_RETURN(outcomes, EnrolEach(state, request, in));
  }
  state->exchange.Wake();
  HEFT_ASSIGN_OR_RETURN(std::string status, StatusOf(state, in));
  // A wait holds a worker: if many wait already, answer with the current status.
  const bool may_wait = status == "pending" && wait > 0 && state->waits.TryTake();
  const Leave leave{may_wait ? &state->waits : nullptr};
  while (may_wait && status == "pending" && std::chrono::steady_clock::now() < until) {
    state->exchange.WaitForChange(seen, until);
    seen = state->exchange.Changes();
    HEFT_ASSIGN_OR_RETURN(status, StatusOf(state, in));
  }
  HttpResponse response =
      JsonResponse({{"personId", in.person},
                    {"encounterId", in.encounter},
                    {"others", {{"status", status}, {"galleries", std::move(outcomes)}}}},
                   replace ? 200 : 201);
  return response;
}

// Separates the encounter's id from the metadata of requests.
Json TemplateJson(const ListedTemplate& t) {
  Metadata metadata;
  std::string encounter;
  for (const MetadataPair& pair : t.metadata) {
    if (pair.key == kEncounterKey) {
      encounter = pair.value;
    } else {
      metadata.push_back(pair);
    }
  }
  Json json = {{"personId", t.identity},           {"position", t.position},
               {"receipt_id", t.person},           {"generation", t.generation},
               {"enrolled", TimeJson(t.enrolled)}, {"expires", TimeJson(t.expires)},
               {"metadata", PairsJson(metadata)}};
  if (!encounter.empty()) json["encounterId"] = encounter;
  return json;
}

// The gallery of the query, or all.
absl::StatusOr<std::vector<std::string>> AskedGalleries(MatcherState* state,
                                                        const HttpRequest& request) {
  const std::string gallery = request.Query("gallery");
  if (gallery.empty()) return state->galleries.Names();
  HEFT_RETURN_IF_ERROR(state->galleries.Newest(gallery).status());
  return std::vector<std::string>{gallery};
}

absl::StatusOr<HttpResponse> ReadPerson(MatcherState* state, const HttpRequest& request) {
  const std::string& person = request.Parameter("person");
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, AskedGalleries(state, request));
  Json galleries = Json::array();
  for (const std::string& gallery : names) {
    HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(gallery));
    HEFT_ASSIGN_OR_RETURN(const PersonInfo info, DescribePerson(address, person));
    if (info.templates.empty() && info.pending == 0) continue;
    Json templates = Json::array();
    for (const ListedTemplate& t : info.templates) templates.push_back(TemplateJson(t));
    galleries.push_back({{"gallery", gallery},
                         {"status", info.templates.empty() ? "pending" : "active"},
                         {"pending", info.pending},
                         {"templates", std::move(templates)}});
  }
  if (galleries.empty()) return absl::NotFoundError("no person of that name is enrolled");
  return JsonResponse({{"personId", person}, {"galleries", std::move(galleries)}});
}

absl::StatusOr<HttpResponse> ReadEncounters(MatcherState* state, const HttpRequest& request) {
  const std::string& person = request.Parameter("person");
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, AskedGalleries(state, request));
  std::map<std::string, std::vector<std::string>> galleries;  // by encounter
  for (const std::string& gallery : names) {
    HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(gallery));
    HEFT_ASSIGN_OR_RETURN(const PersonInfo info, DescribePerson(address, person));
    for (const ListedTemplate& t : info.templates) {
      const Json json = TemplateJson(t);
      // Templates that were enrolled in another way are named by their generation.
      const std::string id = json.contains("encounterId")
                                 ? json["encounterId"].get<std::string>()
                                 : absl::StrCat(gallery, "-", t.generation);
      auto& in = galleries[id];
      if (in.empty() || in.back() != gallery) in.push_back(gallery);
    }
  }
  if (galleries.empty()) return absl::NotFoundError("no person of that name is enrolled");
  Json out = Json::array();
  for (const auto& [id, in] : galleries) {
    out.push_back({{"encounterId", id},
                   {"status", "ACTIVE"},
                   {"encounterType", "ENROLMENT"},
                   {"galleries", in},
                   {"biometricData", Json::array()}});
  }
  return JsonResponse(out);
}

absl::StatusOr<HttpResponse> ListPersons(MatcherState* state, const HttpRequest& request) {
  const std::string gallery = request.Query("gallery"),
                    search = absl::AsciiStrToLower(request.Query("search"));
  if (gallery.empty()) return absl::InvalidArgumentError("gallery: name one (?gallery=NAME)");
  HEFT_RETURN_IF_ERROR(state->galleries.Newest(gallery).status());
  HEFT_ASSIGN_OR_RETURN(const std::string address, state->galleries.Address(gallery));
  HEFT_ASSIGN_OR_RETURN(const uint64_t count, QueryNumber(request, "count", 100, kMaxPersons));
  ListOptions options;
  HEFT_ASSIGN_OR_RETURN(options.from, QueryNumber(request, "cursor", 0, uint64_t{1} << 48));
  options.count = search.empty() ? std::max<uint64_t>(count, 1) : kMaxScanned;
  if (const std::string where = request.Query("where"); !where.empty()) {
    HEFT_ASSIGN_OR_RETURN(Condition condition, ParseCondition(where));
    options.where.push_back(std::move(condition));
  }
  Json persons = Json::array();
  std::optional<uint64_t> next;
  const auto listed = ListTemplates(address, options, [&](const ListedTemplate& t) -> absl::Status {
    if (!absl::StrContains(absl::AsciiStrToLower(t.identity), search)) return absl::OkStatus();
    if (persons.size() == std::max<uint64_t>(count, 1)) {
      next = t.position;
      return absl::OutOfRangeError("the page is full");
    }
    persons.push_back(TemplateJson(t));
    return absl::OkStatus();
  });
  if (!next) HEFT_RETURN_IF_ERROR(listed.status());
  if (!next) next = *listed;
  Json json = {{"persons", std::move(persons)}};
  if (next) json["next"] = absl::StrCat(*next);
  return JsonResponse(json);
}

}  // namespace

void AddPersonRoutes(MatcherState* state, Router* router) {
  const auto enrol = [&](const char* method, const char* operation, bool replace) {
    Route route = {method, "/v1/persons/{person}/encounters", operation, Scope::kEnrol, {}};
    route.handler = Answers(state, [state, replace](const HttpRequest& request) {
      return Enrol(state, request, replace);
    });
    route.most_bytes = state->config.sample_bytes;
    route.signed_request = true;
    route.audited = true;
    router->Add(std::move(route));
  };
  enrol("POST", "createEncounterNoId", false);
  enrol("PUT", "replacePerson", true);
  const auto read = [&](const char* pattern, const char* operation, auto function) {
    router->Add({"GET", pattern, operation, Scope::kReadPersons,
                 Answers(state, [state, function](const HttpRequest& request) {
                   return function(state, request);
                 })});
  };
  read("/v1/persons", "listPersons", ListPersons);
  read("/v1/persons/{person}", "readPerson", ReadPerson);
  read("/v1/persons/{person}/encounters", "readAllEncounters", ReadEncounters);
}

}  // namespace heft::service
