// SPDX-License-Identifier: Apache-2.0
// Data that the processes of gallery_kills share: keys, a gallery's roles, people made from their
// numbers, and the content of a gallery as the holder of the secret key sees it.
#ifndef HEFT_TESTS_KILLS_WORLD_H_
#define HEFT_TESTS_KILLS_WORLD_H_

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "heft/client.h"
#include "heft/key_owner.h"
#include "heft/server.h"
#include "matcher/server_impl.h"
#include "owner/key_owner_impl.h"

namespace heft::kills {

// Person: a number that no other person has.
using Person = uint64_t;
// kFounders: people 1 to kFounders stay from beginning to end in a gallery that must survive
// failures of its database.
inline constexpr Person kFounders = 6;

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << "gallery_kills: " << value.status() << "\n";
  std::exit(2);
}

// World: all roles in one process. Another process loads the same world from the folder.
struct World {
  static absl::StatusOr<World> Make(const std::string& folder);
  static absl::StatusOr<World> Load(const std::string& folder);

  // Name: a name that occurs nowhere else. Samples: a person's samples; they are encrypted once, so
  // every process gets the same bytes. Several people in one call make one bulk enrolment.
  static std::string Name(Person person);
  static constexpr std::string_view kNames = "Qz9-person-";
  static constexpr size_t kNameDigits = 8;
  absl::StatusOr<std::vector<SampleFile>> Samples(const std::vector<Person>& people) const;
  // Probe: samples for an identification, a file for each modality.
  absl::StatusOr<std::vector<SampleFile>> Probe(Person person) const;
  void DropSamples(Person first) const;
  // Template: the expected template of these samples.
  std::vector<double> Template(Person person, bool bulk) const;

  // ActivateAll: the key owner approves all pending templates.
  absl::StatusOr<ActivateResult> ActivateAll(const std::string& gallery) const;
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

// View: the content of a gallery when it is opened now.
struct View {
  uint64_t generation = 0;
  uint64_t leaving = 0;
  std::map<Person, std::vector<uint64_t>> places;
  std::map<Person, std::string> ids;  // 32 hexadecimal digits
  std::set<Person> waiting;
  std::set<std::string> receipts;       // hashes
  std::set<std::string> receipted;      // ids
  std::set<Person> named;               // people whose names occur anywhere in the store's file
  std::vector<std::string> complaints;  // faults, as sentences
  double worst = 0;                     // largest error of a template's coordinate
};
// Look: opens and verifies a gallery and decrypts all of it. `bulk`: the people enrolled in bulk.
absl::StatusOr<View> Look(const World& world, const std::string& gallery,
                          const std::set<Person>& bulk);
// LookAtCopy: the people in a snapshot; an error if it is incomplete.
absl::StatusOr<std::set<Person>> LookAtCopy(const World& world, const std::string& folder);

std::string ReceiptHash(std::span<const uint8_t> receipt);

}  // namespace heft::kills

#endif  // HEFT_TESTS_KILLS_WORLD_H_
