// SPDX-License-Identifier: Apache-2.0
// Parts of C++20 that the rooms use and the libc++ of Debian's Emscripten (13) lacks.
// CMakeLists.txt includes it before every file; it is empty if the library has them.
#ifndef HEFT_BROWSER_LIBCXX_13_H_
#define HEFT_BROWSER_LIBCXX_13_H_

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

namespace std {  // NOLINT: it is the library's place that is filled

#ifndef __cpp_lib_bit_cast
template <typename To, typename From>
To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From) && is_trivially_copyable_v<From>);
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}
#endif

#ifndef __cpp_lib_ranges
namespace ranges {

template <typename Range, typename Predicate>
bool all_of(Range&& range, Predicate predicate) {
  return std::all_of(std::begin(range), std::end(range), predicate);
}

template <typename Range, typename Predicate>
bool any_of(Range&& range, Predicate predicate) {
  return std::any_of(std::begin(range), std::end(range), predicate);
}

template <typename Range, typename Value, typename Projection = std::identity>
auto count(Range&& range, const Value& value, Projection projection = {}) {
  return std::count_if(std::begin(range), std::end(range), [&](const auto& element) {
    return std::invoke(projection, element) == value;
  });
}

template <typename Range, typename Value, typename Projection = std::identity>
auto find(Range&& range, const Value& value, Projection projection = {}) {
  return std::find_if(std::begin(range), std::end(range), [&](const auto& element) {
    return std::invoke(projection, element) == value;
  });
}

template <typename Range, typename Out>
void copy(Range&& range, Out out) {
  std::copy(std::begin(range), std::end(range), out);
}

template <typename Range, typename Value>
void fill(Range&& range, const Value& value) {
  std::fill(std::begin(range), std::end(range), value);
}

template <typename Range>
void sort(Range&& range) {
  std::sort(std::begin(range), std::end(range));
}

template <typename A, typename B>
bool equal(A&& a, B&& b) {
  return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b));
}

// minmax: of a range that is not empty.
template <typename Range, typename Projection>
auto minmax(Range&& range, std::less<>, Projection projection) {
  const auto [least, most] =
      std::minmax_element(std::begin(range), std::end(range), [&](const auto& a, const auto& b) {
        return std::invoke(projection, a) < std::invoke(projection, b);
      });
  return std::pair(*least, *most);
}

}  // namespace ranges
#endif

}  // namespace std

#endif  // HEFT_BROWSER_LIBCXX_13_H_
