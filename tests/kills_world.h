// SPDX-License-Identifier: Apache-2.0
// What the processes of gallery_kills share: keys, a gallery's roles, people that a number decides,
// and what is seen of a gallery by somebody who holds the secret key.
#ifndef HEFT_TESTS_KILLS_WORLD_H_
#define HEFT_TESTS_KILLS_WORLD_H_

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gallery/owner/key_owner_impl.h"
#include "gallery/server_impl.h"
#include "heft/client.h"
#include "heft/key_owner.h"
#include "heft/server.h"

namespace heft::kills {

// Person: a number that no other person has.
using Person = uint64_t;
// kFounders: 1 to that many are in a gallery that is to outlive its database, from its beginning to
// its end.
inline constexpr Person kFounders = 6;

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << "gallery_kills: " << value.status() << "\n";
  std::exit(2);
}

// World: all roles in one process. Another one loads the same from the folder.
struct World {
  static absl::StatusOr<World> Make(const std::string& folder);
  static absl::StatusOr<World> Load(const std::string& folder);

  // Of people: names that stand nowhere else, and samples, which are encrypted once and then are
  // the same bytes, whoever asks. Several in one call: one bulk enrolment.
  static std::string Name(Person person);
  static constexpr std::string_view kNames = "Qz9-person-";
  static constexpr size_t kNameDigits = 8;
  absl::StatusOr<std::vector<SampleFile>> Samples(const std::vector<Person>& people) const;
  // For an identification: of one modality a file.
  absl::StatusOr<std::vector<SampleFile>> Probe(Person person) const;
  void DropSamples(Person first) const;
  // The template that is to come of them.
  std::vector<double> Template(Person person, bool bulk) const;

  // What waits is admitted by the key owner.
  absl::StatusOr<AdmitResult> AdmitAll(const std::string& gallery) const;
  absl::StatusOr<EnrolResult> Enrol(const std::string& gallery, const std::vector<Person>& people,
                                    uint64_t expires) const;

  std::string folder;
  Model model;
  KeyOwner owner;
  Client client;
  Server server;
  SignerKey signer{};

  const Server::Impl& server_impl() const;
};

// View: a gallery as it is found by who opens it now.
struct View {
  uint64_t generation = 0;
  uint64_t leaving = 0;
  std::map<Person, std::vector<uint64_t>> places;
  std::map<Person, std::string> ids;  // 32 hexadecimal digits
  std::set<Person> waiting;
  std::set<std::string> receipts;       // hashes
  std::set<std::string> receipted;      // ids
  std::set<Person> named;               // whose names stand anywhere in the store's file
  std::vector<std::string> complaints;  // what is wrong
  double worst = 0;                     // error of a template's coordinate
};
// Look: opens, verifies, and decrypts all that is there. `bulk`: who came so.
absl::StatusOr<View> Look(const World& world, const std::string& gallery,
                          const std::set<Person>& bulk);
// LookAtCopy: of a snapshot the people; an error where it is not whole.
absl::StatusOr<std::set<Person>> LookAtCopy(const World& world, const std::string& folder);

std::string ReceiptHash(std::span<const uint8_t> receipt);

}  // namespace heft::kills

#endif  // HEFT_TESTS_KILLS_WORLD_H_
