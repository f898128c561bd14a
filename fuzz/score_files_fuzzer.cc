// SPDX-License-Identifier: Apache-2.0
// Score files (evaluation/score_files.cc): the input as a file of scores, which tells its form
// itself; and, cut at its first byte of 1, as two lists.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "fuzz/fuzz.h"
#include "heft/evaluate.h"

namespace heft::fuzz {
namespace {

void CheckTable(const ScoreTable& table, size_t size) {
  Check(!table.pairs.empty(), "comparisons");
  Check(!table.named || table.pairs.size() <= size, "no more comparisons than bytes");
  for (const ScorePair& pair : table.pairs) {
    Check(!std::isinf(pair.score), "no score is infinite");
    Check(pair.enrolled_label < table.labels.size() && pair.probe_label < table.labels.size(),
          "labels that are there");
    Check(pair.split < table.splits.size(), "a split that is there");
    if (!table.named) continue;
    Check(std::max(pair.enrolled, pair.probe) < table.subjects.size(), "subjects that are there");
    Check(pair.genuine == (pair.enrolled == pair.probe), "a kind that the subjects give");
  }
}

// The written form of the table reads back, and is written the same.
void CheckWritten(const ScoreTable& table) {
  const auto text = FormatScores(table, ScoreForm::kCsv);
  Check(text.ok(), "can be written");
  const auto again = ParseScores(*text, "again");
  Check(again.ok(), "can be read again");
  Check(again->pairs.size() == table.pairs.size(), "as many comparisons");
  Check(FormatScores(*again, ScoreForm::kCsv).value() == *text, "the same text");
}

// LongestNumber: in digits. A histogram may stand for ten million scores, too many for a fuzzer.
size_t LongestNumber(std::string_view text) {
  size_t longest = 0, run = 0;
  for (char c : text) {
    run = c >= '0' && c <= '9' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using heft::fuzz::CheckRefusal;  // NOLINT: short
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto table = heft::ParseScores(text, "input");
  if (table.ok()) {
    heft::fuzz::CheckTable(*table, size);
    heft::fuzz::CheckWritten(*table);
  } else {
    CheckRefusal(table.status());
  }
  const size_t cut = std::min(text.find('\1'), size);
  const heft::ScoreLists lists = {std::string(text.substr(0, cut)),
                                  std::string(text.substr(std::min(cut + 1, size)))};
  for (bool histogram : {false, true}) {
    if (histogram && heft::fuzz::LongestNumber(lists.impostor) > 4) continue;
    const auto pair = heft::ParseScoreLists(lists, {"genuine", "impostor"}, histogram);
    if (!pair.ok()) {
      CheckRefusal(pair.status());
    } else {
      heft::fuzz::CheckTable(*pair, size);
    }
  }
  return 0;
}
