// SPDX-License-Identifier: Apache-2.0
// Scores of comparisons: files of ours and of others, NumPy arrays and DataFrames.
#include <pybind11/numpy.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "heft/evaluate.h"
#include "python/learning.h"
#include "python/values.h"

namespace heft::python {
namespace {

using ScoresClass = py::class_<ScoreTable>;

// A column of the CSV, as pandas reads it.
constexpr char kEnrolled[] = "bio_ref_subject_id", kEnrolledLabel[] = "bio_ref_template_id",
               kProbe[] = "probe_subject_id", kProbeLabel[] = "probe_template_id", kKind[] = "kind",
               kSplit[] = "split", kScore[] = "score", kPlain[] = "plain";

// View: one field of all comparisons, without a copy; it keeps the table alive.
template <typename T>
py::array View(const py::object& self, T ScorePair::*field) {
  const auto& pairs = self.cast<const ScoreTable&>().pairs;
  const T* first = pairs.empty() ? nullptr : &(pairs[0].*field);
  py::array out(py::dtype::of<T>(),
                std::vector<py::ssize_t>{static_cast<py::ssize_t>(pairs.size())},
                std::vector<py::ssize_t>{sizeof(ScorePair)}, first, self);
  out.attr("flags").attr("writeable") = false;
  return out;
}

// NumbersOf: float64, from numbers of any size.
std::vector<double> NumbersOf(const py::object& given, const char* what) {
  const py::array any = py::array::ensure(given);
  if (!any) {
    PyErr_Clear();
    Wrong(std::string(what) + ": give an array of numbers");
  }
  const char kind = any.dtype().kind();
  if (any.ndim() != 1 || (kind != 'f' && kind != 'i' && kind != 'u')) {
    Wrong(std::string(what) + ": give an array of numbers, of one dimension");
  }
  const py::array_t<double, py::array::c_style | py::array::forcecast> numbers(any);
  return {numbers.data(), numbers.data() + numbers.size()};
}

std::vector<bool> KindsOf(const py::object& given) {
  const py::array any = py::array::ensure(given);
  if (!any || any.ndim() != 1 || any.dtype().kind() != 'b') {
    PyErr_Clear();
    Wrong("genuine: give an array of bool with one dimension");
  }
  const py::array_t<bool, py::array::c_style | py::array::forcecast> kinds(any);
  return std::vector<bool>(kinds.data(), kinds.data() + kinds.size());
}

// NameIndex: each name once, in order of appearance, and the index of each comparison's name.
class NameIndex {
 public:
  explicit NameIndex(std::vector<std::string>* names) : names_(names) {}

  std::vector<uint32_t> Of(const py::object& given, size_t count, const char* what) {
    std::vector<std::string> texts = LabelsOf(given);
    if (given.is_none()) texts.assign(count, "");
    if (texts.size() != count) {
      Wrong(std::string(what) + ": " + std::to_string(texts.size()) + " for " +
            std::to_string(count) + " scores");
    }
    std::vector<uint32_t> out;
    out.reserve(count);
    for (std::string& text : texts) {
      const auto [at, is_new] =
          numbers_.try_emplace(std::move(text), static_cast<uint32_t>(names_->size()));
      if (is_new) names_->push_back(at->first);
      out.push_back(at->second);
    }
    return out;
  }

 private:
  std::vector<std::string>* names_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

template <typename T>
void CheckCount(const std::vector<T>& values, size_t count, const char* what) {
  if (values.size() == count) return;
  Wrong(std::string(what) + ": " + std::to_string(values.size()) + " for " + std::to_string(count) +
        " scores");
}

// CheckNames: checks that a file keeps the names: writes a table with each of them once, and reads
// it.
void CheckNames(const ScoreTable& table) {
  ScoreTable once;
  once.subjects = table.named ? table.subjects : std::vector<std::string>{"somebody"};
  once.labels = table.labels;
  once.splits = table.splits;
  const uint32_t subjects = static_cast<uint32_t>(once.subjects.size());
  const uint32_t labels = static_cast<uint32_t>(once.labels.size());
  const uint32_t splits = static_cast<uint32_t>(once.splits.size());
  for (uint32_t i = 0; i < std::max({subjects, labels, splits}); ++i) {
    ScorePair pair;
    pair.enrolled = pair.probe = std::min(i, subjects - 1);
    pair.enrolled_label = pair.probe_label = std::min(i, labels - 1);
    pair.split = std::min(i, splits - 1);
    pair.genuine = true;
    once.pairs.push_back(pair);
  }
  const std::string text = Take(FormatScores(once, ScoreForm::kCsv));
  const ScoreTable read = Take(ParseScores(text, "names of subjects, labels and splits"));
  if (read.subjects == once.subjects && read.labels == once.labels && read.splits == once.splits) {
    return;
  }
  Wrong("the name of a subject, label or split would read as another name in a file");
}

void CheckPairs(const ScoreTable& table) {
  if (table.pairs.empty()) Wrong("score: give at least one comparison");
  for (size_t i = 0; i < table.pairs.size(); ++i) {
    const ScorePair& pair = table.pairs[i];
    if (std::isinf(pair.score) || std::isinf(pair.plain)) {
      Wrong("comparison " + std::to_string(i) +
            " has an infinite score: use nan for a failed comparison");
    }
    if (table.named && pair.genuine != (pair.enrolled == pair.probe)) {
      Wrong("comparison " + std::to_string(i) +
            (pair.genuine ? " is genuine, but names two subjects"
                          : " is an impostor's, but names one subject"));
    }
  }
}

ScoreTable ScoresFromArrays(const py::object& score, const py::object& genuine,
                            const py::object& enrolled, const py::object& probe,
                            const py::object& enrolled_label, const py::object& probe_label,
                            const py::object& split, const py::object& plain) {
  ScoreTable table;
  table.named = !enrolled.is_none();
  if (enrolled.is_none() != probe.is_none()) Wrong("give enrolled and probe together, or neither");
  if (!table.named && genuine.is_none()) Wrong("give genuine, or enrolled and probe");
  const std::vector<double> scores = NumbersOf(score, "score");
  const size_t count = scores.size();
  table.pairs.resize(count);
  for (size_t i = 0; i < count; ++i) table.pairs[i].score = scores[i];
  const auto set = [&](const std::vector<uint32_t>& numbers, uint32_t ScorePair::*field) {
    for (size_t i = 0; i < count; ++i) table.pairs[i].*field = numbers[i];
  };
  NameIndex labels(&table.labels), subjects(&table.subjects);
  set(labels.Of(enrolled_label, count, "enrolled_label"), &ScorePair::enrolled_label);
  set(labels.Of(probe_label, count, "probe_label"), &ScorePair::probe_label);
  set(NameIndex(&table.splits).Of(split, count, "split"), &ScorePair::split);
  if (table.named) {
    set(subjects.Of(enrolled, count, "enrolled"), &ScorePair::enrolled);
    set(subjects.Of(probe, count, "probe"), &ScorePair::probe);
    for (ScorePair& pair : table.pairs) pair.genuine = pair.enrolled == pair.probe;
  }
  if (!genuine.is_none()) {
    const std::vector<bool> kinds = KindsOf(genuine);
    CheckCount(kinds, count, "genuine");
    for (size_t i = 0; i < count; ++i) table.pairs[i].genuine = kinds[i];
  }
  if (!plain.is_none()) {
    const std::vector<double> plains = NumbersOf(plain, "plain");
    CheckCount(plains, count, "plain");
    for (size_t i = 0; i < count; ++i) table.pairs[i].plain = plains[i];
    table.has_plain = true;
  }
  CheckPairs(table);
  CheckNames(table);
  return table;
}

// Categories: a column of names, held once each.
py::object Categories(const py::object& pandas, const py::array& codes,
                      const std::vector<std::string>& names) {
  return pandas.attr("Categorical")
      .attr("from_codes")(codes.attr("astype")("int64"), py::cast(names));
}

py::object ScoreFrame(const py::object& self) {
  const auto& table = self.cast<const ScoreTable&>();
  const py::object pandas = py::module_::import("pandas");
  py::dict columns;
  const auto names = [&](const char* column, uint32_t ScorePair::*field,
                         const std::vector<std::string>& of) {
    columns[column] = Categories(pandas, View(self, field), of);
  };
  if (table.named) {
    names(kEnrolled, &ScorePair::enrolled, table.subjects);
    names(kEnrolledLabel, &ScorePair::enrolled_label, table.labels);
    names(kProbe, &ScorePair::probe, table.subjects);
    names(kProbeLabel, &ScorePair::probe_label, table.labels);
  }
  columns[kKind] = Categories(pandas, View(self, &ScorePair::genuine), {"impostor", "genuine"});
  names(kSplit, &ScorePair::split, table.splits);
  columns[kScore] = View(self, &ScorePair::score);
  if (table.has_plain) columns[kPlain] = View(self, &ScorePair::plain);
  return pandas.attr("DataFrame")(columns);
}

// FromFrame: from columns named as in the CSV. A missing value in a column of labels is no label.
ScoreTable FromFrame(const py::object& frame) {
  const py::object pandas = py::module_::import("pandas");
  if (!py::isinstance(frame, pandas.attr("DataFrame"))) {
    throw py::type_error("frame: give a pandas DataFrame");
  }
  const auto column = [&](const char* name) -> py::object {
    if (!frame.attr("columns").attr("__contains__")(name).cast<bool>()) return py::none();
    return frame[py::str(name)];
  };
  const auto names = [&](const char* name) -> py::object {
    const py::object values = column(name);
    if (values.is_none()) return values;
    return values.attr("astype")("object").attr("where")(values.attr("notna")(), "");
  };
  if (column(kScore).is_none()) Wrong("the frame has no column \"score\"");
  py::object genuine = py::none();
  if (const py::object kind = column(kKind); !kind.is_none()) {
    genuine = kind.attr("eq")("genuine");
    if (!genuine.attr("__or__")(kind.attr("eq")("impostor")).attr("all")().cast<bool>()) {
      Wrong("kind: write genuine or impostor");
    }
    genuine = genuine.attr("to_numpy")("bool");
  }
  return ScoresFromArrays(column(kScore), genuine, names(kEnrolled), names(kProbe),
                          names(kEnrolledLabel), names(kProbeLabel), names(kSplit), column(kPlain));
}

ScoreForm FormOf(const std::string& name) {
  if (name == "csv") return ScoreForm::kCsv;
  if (name == "bob4") return ScoreForm::kBob4;
  if (name == "bob5") return ScoreForm::kBob5;
  Wrong("form must be \"csv\", \"bob4\" or \"bob5\", not \"" + name + "\"");
}

void DefineReading(ScoresClass& c) {
  StaticMethod(
      c, "load",
      [](const py::object& path) {
        const std::string file = PathOf(path);
        return Call([&] { return ReadScores(file); });
      },
      "Loads a file of scores: CSV of `heft evaluate --scores` or of bob.bio, or bob.bio's four\n"
      "or five columns, recognised by the first line. InvalidArgument with the line and its\n"
      "error, NotFound.",
      py::arg("path"));
  StaticMethod(
      c, "parse",
      [](const std::string& text) { return Call([&] { return ParseScores(text, "scores"); }); },
      "Reads the text of such a file.", py::arg("text"));
  StaticMethod(
      c, "load_lists",
      [](const py::object& genuine, const py::object& impostor, bool histogram) {
        const ScoreLists paths{PathOf(genuine), PathOf(impostor)};
        return Call([&] { return ReadScoreLists(paths, histogram); });
      },
      "Loads PyEER's form: a file of genuine scores and one of impostor scores, in the last\n"
      "column of each. histogram: line k of the second file, from 0, is the number of scores k.",
      py::arg("genuine"), py::arg("impostor"), py::kw_only(), py::arg("histogram") = false);
  StaticMethod(
      c, "parse_lists",
      [](const std::string& genuine, const std::string& impostor, bool histogram) {
        return Call([&] {
          return ParseScoreLists({genuine, impostor}, {"genuine", "impostor"}, histogram);
        });
      },
      "Reads the texts of such files.", py::arg("genuine"), py::arg("impostor"), py::kw_only(),
      py::arg("histogram") = false);
  StaticMethod(c, "from_dataframe", &FromFrame,
               "Reads a pandas DataFrame with the CSV's columns: score and, for the people,\n"
               "bio_ref_subject_id and probe_subject_id, or kind. InvalidArgument.",
               py::arg("frame"));
}

void DefineWriting(ScoresClass& c) {
  Method(
      c, "to_text",
      [](const ScoreTable& self, const std::string& form) {
        const ScoreForm wanted = FormOf(form);
        return Call([&] { return FormatScores(self, wanted); });
      },
      "The text of a file of form csv, bob4 or bob5; numbers are read back exactly.\n"
      "InvalidArgument for scores without names in bob4 and bob5, and for names with a blank\n"
      "there.",
      py::arg("form") = "csv");
  Method(
      c, "save",
      [](const ScoreTable& self, const py::object& path, const std::string& form) {
        const std::string file = PathOf(path);
        const ScoreForm wanted = FormOf(form);
        Call([&]() -> absl::Status {
          const auto text = FormatScores(self, wanted);
          if (!text.ok()) return text.status();
          return WriteFile(file, std::string_view(*text));
        });
      },
      "Writes that file, which is replaced as a whole.", py::arg("path"), py::arg("form") = "csv");
  Method(
      c, "to_lists",
      [](const ScoreTable& self) {
        const ScoreLists lists = FormatScoreLists(self);
        return py::make_tuple(lists.genuine, lists.impostor);
      },
      "PyEER's two texts, with genuine and impostor scores; failed comparisons are left out.");
  Method(c, "to_dataframe", &ScoreFrame,
         "A pandas DataFrame with the CSV's columns; names are categories.");
  Method(
      c, "select_split",
      [](const ScoreTable& self, const std::string& split) {
        return Take(SelectSplit(self, split));
      },
      "The comparisons of one split only. NotFound lists the splits.", py::arg("split"));
}

void DefineColumns(ScoresClass& c) {
  const auto view = [&c](const char* name, auto field, const char* text) {
    c.def_property_readonly(
        name, [field](const py::object& self) { return View(self, field); }, text);
  };
  view("score", &ScorePair::score, "float64, a read-only view; NaN for a failed comparison.");
  view("genuine", &ScorePair::genuine, "bool, a read-only view.");
  view("enrolled", &ScorePair::enrolled, "The enrolled person, an index into subjects; a view.");
  view("probe", &ScorePair::probe, "The person of the probe, an index into subjects; a view.");
  view("enrolled_label", &ScorePair::enrolled_label, "The template, an index into labels; a view.");
  view("probe_label", &ScorePair::probe_label, "The probe, an index into labels; a view.");
  view("split", &ScorePair::split, "The split, an index into splits; a view.");
  c.def_property_readonly(
      "plain",
      [](const py::object& self) -> py::object {
        if (!self.cast<const ScoreTable&>().has_plain) return py::none();
        return View(self, &ScorePair::plain);
      },
      "The same scores computed without encryption, a view; None if the table has none.");
  c.def_readonly("subjects", &ScoreTable::subjects, "Names of people.");
  c.def_readonly("labels", &ScoreTable::labels,
                 "Names of templates and probes; may be empty texts.");
  c.def_readonly("splits", &ScoreTable::splits, "Names of splits; may be empty texts.");
  c.def_readonly("named", &ScoreTable::named,
                 "False if scores are only genuine or impostor, without subjects.");
  c.def_property_readonly(
      "failures",
      [](const ScoreTable& self) {
        return std::ranges::count_if(self.pairs, [](auto& pair) { return std::isnan(pair.score); });
      },
      "Number of comparisons without a score.");
}

}  // namespace

void DefineScoreFiles(py::module_& m) {
  ScoresClass c(m, "ScoreTable",
                "Scores of comparisons, as in files of scores (docs/evaluation.md).");
  Init(c, &ScoresFromArrays,
       "From arrays: score, one similarity per comparison, NaN for a failed one; and either the\n"
       "compared people, enrolled and probe (str or int), or genuine (bool). Labels name\n"
       "templates and probes. plain: the same scores computed without encryption.\n"
       "InvalidArgument.",
       py::arg("score"), py::arg("genuine") = py::none(), py::kw_only(),
       py::arg("enrolled") = py::none(), py::arg("probe") = py::none(),
       py::arg("enrolled_label") = py::none(), py::arg("probe_label") = py::none(),
       py::arg("split") = py::none(), py::arg("plain") = py::none());
  DefineReading(c);
  DefineWriting(c);
  DefineColumns(c);
  c.def("__len__", [](const ScoreTable& self) { return self.pairs.size(); });
  c.def("__repr__", [](const ScoreTable& self) {
    return "<heft.ScoreTable of " + std::to_string(self.pairs.size()) + " comparisons>";
  });
}

}  // namespace heft::python
