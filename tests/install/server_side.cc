// SPDX-License-Identifier: Apache-2.0
// Includes and links the parts that a server may have: no secret key.
#include <heft/inspect.h>
#include <heft/server.h>
#include <heft/trust.h>

#include <iostream>

int main() {
  const auto gallery = heft::Gallery::Open("/nonexistent");
  std::cout << gallery.status().message() << "\n";
  const auto server = heft::Server::Create(heft::Model(), {});
  std::cout << server.status().message() << "\n";
  std::cout << heft::DescribeProfile("standard")->security << "\n";
  // A signing key decrypts nothing, so a server may have one.
  const auto key = heft::SigningKey::Generate();
  heft::Trust trust;
  if (!key.ok() || !trust.Add(heft::Role::kServer, "server", key->public_key()).ok()) return 1;
  const std::vector<uint8_t> model = heft::Model().Serialize();
  const auto bytes = key->Sign({.role = heft::Role::kServer}, model);
  if (!bytes.ok() || !heft::OpenSigned(*bytes, trust, {}, "model").ok()) return 1;
  return !gallery.ok() && !server.ok() ? 0 : 1;
}
