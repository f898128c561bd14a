// SPDX-License-Identifier: Apache-2.0
#include "service/decider/admission_queue.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/status.h"
#include "service/json.h"

namespace heft::service {
namespace {

constexpr uint64_t kMaxFile = uint64_t{1} << 28;
using Word = PendingEntry::Word;

Json ToJson(const PendingEntry& pending) {
  Json people = Json::array();
  for (const auto& person : pending.enrolment.people) {
    people.push_back(
        {{"identity", person.identity}, {"known", person.known}, {"others", person.others}});
  }
  return {{"entry", HexString(pending.enrolment.entry)},
          {"authorised", pending.enrolment.authorised},
          {"client", pending.enrolment.client},
          {"people", std::move(people)},
          {"received", pending.received},
          {"word", static_cast<int>(pending.word)},
          {"by", pending.by}};
}

// FromJson throws nlohmann's exceptions if a member is not as ToJson writes it.
absl::StatusOr<PendingEntry> FromJson(const Json& json, const GalleryId& gallery) {
  PendingEntry out;
  out.gallery = gallery;
  HEFT_ASSIGN_OR_RETURN(out.enrolment.entry, DigestOfHex(json.at("entry").get<std::string>()));
  out.enrolment.authorised = json.at("authorised").get<bool>();
  for (const Json& person : json.at("people")) {
    out.enrolment.people.push_back({person.at("identity").get<std::string>(),
                                    person.at("known").get<bool>(),
                                    person.at("others").get<uint64_t>()});
  }
  out.enrolment.client = json.at("client").get<std::string>();
  out.received = json.at("received").get<uint64_t>();
  const int word = json.at("word").get<int>();
  if (word < 0 || word > static_cast<int>(Word::kReject)) return absl::DataLossError("a word");
  out.word = static_cast<Word>(word);
  out.by = json.at("by").get<std::string>();
  return out;
}

bool Has(const std::vector<PendingEntry>& entries, const Digest& entry) {
  return std::ranges::any_of(entries,
                             [&](const PendingEntry& w) { return w.enrolment.entry == entry; });
}

// HasRivals: whether other pending enrolments have one of its new identities.
bool HasRivals(const AdmissionInquiry::Enrolment& enrolment) {
  return std::ranges::any_of(enrolment.people, [](const AdmissionInquiry::Person& person) {
    return !person.known && person.others > 0;
  });
}

// CheckOneOfEach: one person's word cannot give a new identity to two enrolments.
absl::Status CheckOneOfEach(const std::vector<PendingEntry>& entries) {
  std::map<std::string, const Digest*> taken;
  for (const PendingEntry& pending : entries) {
    if (pending.word != Word::kApprove) continue;
    for (const AdmissionInquiry::Person& person : pending.enrolment.people) {
      if (person.known) continue;
      const auto [first, fresh] = taken.emplace(person.identity, &pending.enrolment.entry);
      if (fresh || *first->second == pending.enrolment.entry) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("\"", person.identity, "\" is in entries ", HexString(*first->second),
                       " and ", HexString(pending.enrolment.entry),
                       ": approve the one that is this person's, and reject the other"));
    }
  }
  return absl::OkStatus();
}

ApprovalPolicy PolicyOf(const std::vector<PendingEntry>& entries) {
  ApprovalPolicy policy;
  for (const PendingEntry& pending : entries) {
    if (pending.word == Word::kNone) continue;
    policy.entries.push_back(pending.enrolment.entry);
    if (pending.word == Word::kReject) policy.reject_entries.push_back(pending.enrolment.entry);
  }
  return policy;
}

}  // namespace

absl::StatusOr<Digest> DigestOfHex(std::string_view text) {
  if (text.size() == 64) return ParseSignerKey(text);
  return absl::InvalidArgumentError("an entry has 64 hexadecimal digits");
}

std::string AdmissionQueue::Path(const GalleryId& gallery) const {
  return absl::StrCat(folder_, "/", HexString(gallery), ".json");
}

absl::StatusOr<std::unique_ptr<AdmissionQueue>> AdmissionQueue::Open(const std::string& folder) {
  std::unique_ptr<AdmissionQueue> queue(new AdmissionQueue);
  queue->folder_ = folder;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    if (file.path().extension() != ".json") continue;
    HEFT_RETURN_IF_ERROR(queue->Load(file.path().string(), file.path().stem().string()));
  }
  if (error) return absl::UnavailableError(absl::StrCat(folder, ": ", error.message()));
  return queue;
}

absl::Status AdmissionQueue::Load(const std::string& path, const std::string& name) {
  const auto damaged = [&](std::string_view why) {
    return absl::DataLossError(absl::StrCat(path, ": ", std::string(why),
                                            ": remove it. Pending enrolments are requested again; "
                                            "unfetched decisions must be repeated"));
  };
  HEFT_ASSIGN_OR_RETURN(const GalleryId gallery, ParseGalleryId(name));
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxFile));
  Entries entries;
  try {
    for (const Json& json : Json::parse(text)) {
      HEFT_ASSIGN_OR_RETURN(PendingEntry pending, FromJson(json, gallery));
      entries.push_back(std::move(pending));
    }
  } catch (const Json::exception& error) {
    return damaged(error.what());
  }
  galleries_[gallery] = std::move(entries);
  return absl::OkStatus();
}

absl::Status AdmissionQueue::Save(const GalleryId& gallery, const Entries& entries) const {
  Json json = Json::array();
  for (const PendingEntry& pending : entries) json.push_back(ToJson(pending));
  return WriteFileAtomic(Path(gallery), json.dump(), 0600);
}

absl::Status AdmissionQueue::Replace(
    const AdmissionInquiry& inquiry,
    const std::vector<const AdmissionInquiry::Enrolment*>& enrolments, uint64_t now) {
  more_[inquiry.gallery_id] = inquiry.more;
  Entries& before = galleries_[inquiry.gallery_id];
  std::map<Digest, const PendingEntry*> known;
  for (const PendingEntry& pending : before) known[pending.enrolment.entry] = &pending;
  Entries entries;
  bool same = before.size() == enrolments.size();
  for (const AdmissionInquiry::Enrolment* const enrolment : enrolments) {
    const auto it = known.find(enrolment->entry);
    same = same && it != known.end();
    PendingEntry pending =
        it == known.end() ? PendingEntry{inquiry.gallery_id, now, {}, {}, {}} : *it->second;
    pending.enrolment = *enrolment;
    entries.push_back(std::move(pending));
  }
  if (!same) HEFT_RETURN_IF_ERROR(Save(inquiry.gallery_id, entries));
  before = std::move(entries);
  return absl::OkStatus();
}

absl::StatusOr<ApprovalPolicy> AdmissionQueue::Offer(const AdmissionInquiry& inquiry,
                                                     uint64_t now) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::vector<const AdmissionInquiry::Enrolment*> all;
  for (const AdmissionInquiry::Enrolment& enrolment : inquiry.enrolments) all.push_back(&enrolment);
  HEFT_RETURN_IF_ERROR(Replace(inquiry, all, now));
  return PolicyOf(galleries_[inquiry.gallery_id]);
}

absl::StatusOr<ApprovalPolicy> AdmissionQueue::OfferHeld(const AdmissionInquiry& inquiry,
                                                         uint64_t now) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const Entries& before = galleries_[inquiry.gallery_id];
  std::vector<const AdmissionInquiry::Enrolment*> held;
  for (const AdmissionInquiry::Enrolment& enrolment : inquiry.enrolments) {
    if (Has(before, enrolment.entry) && HasRivals(enrolment)) held.push_back(&enrolment);
  }
  HEFT_RETURN_IF_ERROR(Replace(inquiry, held, now));
  ApprovalPolicy policy = PolicyOf(galleries_[inquiry.gallery_id]);
  if (!policy.entries.empty()) return policy;
  for (const auto* const enrolment : held) policy.hold.push_back(enrolment->entry);
  return policy;
}

absl::Status AdmissionQueue::Hold(const AdmissionInquiry& inquiry,
                                  std::span<const Admissions::Contested> contested, uint64_t now) {
  std::set<Digest> claims;
  for (const Admissions::Contested& one : contested) {
    for (const Admissions::Claim& claim : one.claims) claims.insert(claim.entry);
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  const Entries& before = galleries_[inquiry.gallery_id];
  std::vector<const AdmissionInquiry::Enrolment*> held;
  for (const AdmissionInquiry::Enrolment& enrolment : inquiry.enrolments) {
    if (claims.contains(enrolment.entry) || Has(before, enrolment.entry)) {
      held.push_back(&enrolment);
    }
  }
  return Replace(inquiry, held, now);
}

absl::Status AdmissionQueue::Decide(const GalleryId& gallery, const std::vector<Digest>& approve,
                                    const std::vector<Digest>& reject, const std::string& by) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto it = galleries_.find(gallery);
  if (it == galleries_.end()) return absl::NotFoundError("this gallery has no pending enrolments");
  Entries entries = it->second;
  std::map<Digest, Word> said;
  for (const Digest& digest : approve) said[digest] = Word::kApprove;
  for (const Digest& digest : reject) {
    if (!said.emplace(digest, Word::kReject).second) {
      return absl::InvalidArgumentError(absl::StrCat(HexString(digest), ": approved and rejected"));
    }
  }
  size_t found = 0;
  for (PendingEntry& pending : entries) {
    const auto word = said.find(pending.enrolment.entry);
    if (word == said.end()) continue;
    ++found;
    if (pending.word == word->second) continue;
    if (pending.word != Word::kNone) {
      return absl::FailedPreconditionError(
          absl::StrCat(HexString(word->first), ": ", pending.by, " has decided otherwise"));
    }
    pending.word = word->second;
    pending.by = by;
  }
  if (found != said.size()) {
    return absl::NotFoundError("some of these entries are no longer pending: reload the list");
  }
  HEFT_RETURN_IF_ERROR(CheckOneOfEach(entries));
  HEFT_RETURN_IF_ERROR(Save(gallery, entries));
  it->second = std::move(entries);
  return absl::OkStatus();
}

std::vector<PendingEntry> AdmissionQueue::List() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::vector<PendingEntry> out;
  for (const auto& [gallery, entries] : galleries_) {
    std::copy_if(entries.begin(), entries.end(), std::back_inserter(out),
                 [](const PendingEntry& pending) { return pending.word == Word::kNone; });
  }
  return out;
}

size_t AdmissionQueue::size() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  size_t size = 0;
  for (const auto& [gallery, entries] : galleries_) {
    size += static_cast<size_t>(
        std::count_if(entries.begin(), entries.end(),
                      [](const PendingEntry& pending) { return pending.word == Word::kNone; }));
  }
  return size;
}

uint64_t AdmissionQueue::more() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  uint64_t more = 0;
  for (const auto& [gallery, count] : more_) more += count;
  return more;
}

}  // namespace heft::service
