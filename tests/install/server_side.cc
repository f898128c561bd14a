// SPDX-License-Identifier: Apache-2.0
// Includes and links what a server may: no secret key.
#include <heft/inspect.h>
#include <heft/server.h>

#include <iostream>

int main() {
  const auto gallery = heft::Gallery::Open("/nonexistent");
  std::cout << gallery.status().message() << "\n";
  const auto server = heft::Server::Create(heft::Model(), {});
  std::cout << server.status().message() << "\n";
  std::cout << heft::DescribeProfile("compact")->security << "\n";
  return !gallery.ok() && !server.ok() ? 0 : 1;
}
