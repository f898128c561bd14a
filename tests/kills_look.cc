// SPDX-License-Identifier: Apache-2.0
// The content of a gallery, as the holder of the secret key finds it, and the names in its file.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/inside.h"
#include "ckks/owner/secret_key.h"
#include "fusion/block_internal.h"
#include "heft/gallery_admin.h"
#include "tests/kills_world.h"

namespace heft::kills {
namespace {

// kMaxError: of a coordinate of a template, from its plain one or from nothing.
constexpr double kMaxError = 5e-3;

std::optional<Person> PersonOf(std::string_view name) {
  if (!name.starts_with(World::kNames)) return {};
  name.remove_prefix(World::kNames.size());
  if (name.size() != World::kNameDigits) return {};
  Person person = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), person);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return person;
}

// All positions of a block as the secret key finds them: gamma coordinates each.
std::vector<std::vector<double>> Decrypt(const World& world, BlockView block) {
  const Instance& instance = world.server_impl().instance();
  const uint32_t slots = instance.params().slots(), gamma = world.model.gamma;
  std::vector<std::vector<double>> found(2 * size_t{slots}, std::vector<double>(gamma));
  for (uint32_t k = 0; k < gamma; ++k) {
    ckks::Ciphertext c;
    c.scale = instance.plan.matching.block_scale;
    c.parts = internal::LoadTiled(*instance.context, gamma, k, block);
    const auto values = instance.encoder->Decode(
        ckks::Decrypt(*instance.context, c, Inside::Of(world.owner).key()));
    for (uint32_t slot = 0; slot < slots; ++slot) {
      for (uint32_t lane = 0; lane < 2; ++lane) {
        const double value = lane == 0 ? values[slot].real() : values[slot].imag();
        found[lane * slots + slot][(slot + k) % gamma] =
            value * SlotSign(instance.plan, slot, lane);
      }
    }
  }
  return found;
}

double Distance(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

class Looker {
 public:
  Looker(const World& world, const Gallery::Impl& gallery, const std::set<Person>& bulk, View* out)
      : world_(world), gallery_(gallery), bulk_(bulk), out_(out) {}

  absl::Status Run() {
    HEFT_RETURN_IF_ERROR(gallery_.store()->Check());
    const Instance& instance = world_.server_impl().instance();
    HEFT_ASSIGN_OR_RETURN(const Gallery::Impl::Finding finding, gallery_.Verify(&instance));
    for (const std::string& c : finding.complaints) Complain(c);
    out_->generation = gallery_.generation();
    out_->leaving = gallery_.head().leaving;
    for (size_t b = 0; b < gallery_.blocks(); ++b) HEFT_RETURN_IF_ERROR(LookAtBlock(b));
    HEFT_ASSIGN_OR_RETURN(const auto waiting, gallery_.PendingEnrolments());
    for (const auto& entry : waiting) {
      for (const std::string& name : entry.record.identities) {
        const auto person = PersonOf(name);
        if (!person || !out_->waiting.insert(*person).second) Complain(name + " waits twice");
      }
    }
    return absl::OkStatus();
  }

 private:
  void Complain(std::string what) { out_->complaints.push_back(std::move(what)); }

  absl::Status LookAtBlock(size_t block) {
    const Server::Impl& server = world_.server_impl();
    HEFT_ASSIGN_OR_RETURN(const PinnedBlock pinned,
                          gallery_.Block(server.instance(), block, server.keys()));
    const auto found = Decrypt(world_, pinned.view);
    const std::vector<double> nothing(world_.model.gamma);
    for (size_t first = 0; first < found.size(); first += kRunPlaces) {
      const uint64_t position = block * found.size() + first;
      HEFT_ASSIGN_OR_RETURN(const heft::Run run,
                            ReadRun(gallery_.reader(), gallery_.number(), position / kRunPlaces));
      for (size_t i = 0; i < kRunPlaces; ++i) {
        const Resident& r = run[i];
        if (r.state == PlaceState::kLive) {
          LookAt(position + i, r, found[first + i]);
        } else if (r.state == PlaceState::kFree) {
          Compare(found[first + i], nothing, position + i, "a free place");
        }
      }
    }
    return absl::OkStatus();
  }

  void LookAt(uint64_t position, const Resident& r, const std::vector<double>& found) {
    const auto person = PersonOf(r.identity);
    if (!person) return Complain(absl::StrCat("somebody called ", r.identity));
    out_->places[*person].push_back(position);
    out_->ids[*person] = HexString(r.person);
    Compare(found, world_.Template(*person, bulk_.contains(*person)), position, r.identity);
  }

  void Compare(const std::vector<double>& found, const std::vector<double>& expected,
               uint64_t position, const std::string& who) {
    const double distance = Distance(found, expected);
    out_->worst = std::max(out_->worst, distance);
    if (distance <= kMaxError) return;
    Complain(absl::StrCat("position ", position, " (", who, ") decrypts to something else, by ",
                          distance));
  }

  const World& world_;
  const Gallery::Impl& gallery_;
  const std::set<Person>& bulk_;
  View* const out_;
};

// The people whose names occur in a file.
absl::StatusOr<std::set<Person>> NamesIn(const std::string& folder) {
  std::vector<uint8_t> bytes;
  for (const char* const name : {"store.sqlite", "store.sqlite-wal", "store.blocks"}) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> file,
                          ReadFile(absl::StrCat(folder, "/", name)));
    bytes.insert(bytes.end(), file.begin(), file.end());
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::set<Person> named;
  for (size_t at = text.find(World::kNames); at != text.npos;
       at = text.find(World::kNames, at + 1)) {
    const auto person = PersonOf(text.substr(at, World::kNames.size() + World::kNameDigits));
    if (person) named.insert(*person);
  }
  return named;
}

}  // namespace

std::string ReceiptHash(std::span<const uint8_t> receipt) { return HexString(HashBytes(receipt)); }

absl::StatusOr<View> Look(const World& world, const std::string& gallery,
                          const std::set<Person>& bulk) {
  View view;
  {
    HEFT_ASSIGN_OR_RETURN(const Gallery::Impl opened, Gallery::Impl::Open(gallery));
    HEFT_RETURN_IF_ERROR(Looker(world, opened, bulk, &view).Run());
  }
  HEFT_ASSIGN_OR_RETURN(const auto receipts, Receipts(gallery));
  for (const auto& receipt : receipts) {
    view.receipts.insert(ReceiptHash(receipt));
    HEFT_ASSIGN_OR_RETURN(const ErasureReceipt read, ReadReceipt(receipt, "receipt"));
    view.receipted.insert(read.persons.begin(), read.persons.end());
  }
  // The files of a database belong to it, and keep deleted data for a while.
  if (!gallery.starts_with("postgres:")) {
    HEFT_ASSIGN_OR_RETURN(view.named, NamesIn(gallery));
  }
  return view;
}

absl::StatusOr<std::set<Person>> LookAtCopy(const World& world, const std::string& folder) {
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl opened, Gallery::Impl::Open(folder));
  HEFT_RETURN_IF_ERROR(opened.store()->Check());
  HEFT_RETURN_IF_ERROR(opened.CheckIntact(&world.server_impl().instance()));
  std::set<Person> people;
  for (const std::string& name : opened.identities()) {
    if (const auto person = PersonOf(name)) people.insert(*person);
  }
  return people;
}

}  // namespace heft::kills
