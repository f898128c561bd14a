// SPDX-License-Identifier: Apache-2.0
#include "service/http/router.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/identity.h"
#include "service/text.h"

namespace heft::service {
namespace {

using Segments = std::vector<std::string_view>;

Segments SegmentsOf(std::string_view path) {
  if (!path.empty() && path.front() == '/') path.remove_prefix(1);
  return Split(path, '/');
}

bool IsParameter(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

// Fits: whether the path matches the pattern; returns its parameters.
bool Fits(std::string_view pattern, const Segments& path,
          std::map<std::string, std::string>* parameters) {
  const Segments wanted = SegmentsOf(pattern);
  if (wanted.size() != path.size()) return false;
  parameters->clear();
  for (size_t i = 0; i < path.size(); ++i) {
    const auto decoded = DecodePercent(path[i]);
    if (!decoded.ok()) return false;
    if (IsParameter(wanted[i])) {
      if (decoded->empty()) return false;
      const std::string_view name = wanted[i].substr(1, wanted[i].size() - 2);
      // All spellings of a name give one person, also for limits, logs and idempotency keys. The
      // handler refuses text that cannot be a name.
      const auto person = name == "person" ? NormalIdentity(*decoded) : decoded;
      (*parameters)[std::string(name)] = person.ok() ? *person : *decoded;
    } else if (*decoded != wanted[i]) {
      return false;
    }
  }
  return true;
}

// Shape: the pattern with one name for all parameters; two patterns of one shape match the same
// paths.
std::string Shape(std::string_view pattern) {
  std::string shape;
  for (const std::string_view segment : SegmentsOf(pattern)) {
    shape += '/';
    shape += IsParameter(segment) ? "{}" : std::string(segment);
  }
  return shape;
}

[[noreturn]] void Die(const Route& route, const char* why) {
  std::fprintf(stderr, "route %s %s: %s\n", route.method.c_str(), route.pattern.c_str(), why);
  std::abort();
}

}  // namespace

void Router::Add(Route route) {
  if (route.pattern.empty() || route.pattern.front() != '/') Die(route, "no path");
  if (!route.handler) Die(route, "no handler");
  for (const Route& other : routes_) {
    if (other.method == route.method && Shape(other.pattern) == Shape(route.pattern)) {
      Die(route, "is there twice");
    }
    if (other.operation == route.operation) Die(route, "its operation is there twice");
  }
  routes_.push_back(std::move(route));
}

const Route* Router::Match(const std::string& method, const std::string& path,
                           std::map<std::string, std::string>* parameters,
                           std::vector<std::string>* allowed) const {
  allowed->clear();
  const Segments segments = SegmentsOf(path);
  const Route* found = nullptr;
  std::map<std::string, std::string> its;
  for (const Route& route : routes_) {
    if (!Fits(route.pattern, segments, &its)) continue;
    allowed->push_back(route.method);
    // A pattern with fewer parameters is preferred.
    if (route.method == method && (found == nullptr || its.size() < parameters->size())) {
      found = &route;
      *parameters = its;
    }
  }
  if (found == nullptr) parameters->clear();
  std::sort(allowed->begin(), allowed->end());
  allowed->erase(std::unique(allowed->begin(), allowed->end()), allowed->end());
  return found;
}

}  // namespace heft::service
