// SPDX-License-Identifier: Apache-2.0
// All roles on one machine, in the folders of a workspace (heft/workspace.h).
#include "heft/workspace.h"

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/values.h"

namespace heft::python {
namespace {

// WorkspaceState: a workspace, which one thread uses at a time.
struct WorkspaceState {
  explicit WorkspaceState(Workspace w) : workspace(std::move(w)) {}
  Workspace workspace;
  std::mutex mutex;
};

class WorkspaceHandle {
 public:
  explicit WorkspaceHandle(Workspace workspace)
      : state_(std::make_shared<WorkspaceState>(std::move(workspace)), "this workspace") {}
  std::shared_ptr<WorkspaceState> Get() const { return *state_.Get(); }
  void Close() { state_.Close(); }
  bool closed() const { return state_.closed(); }
  void Check() const { Get(); }

 private:
  Held<std::shared_ptr<WorkspaceState>> state_;
};
using WorkspaceClass = py::class_<WorkspaceHandle>;

// Table: rows of several modalities, kept alive, and their labels if there are any.
struct Table {
  std::vector<std::string> names;
  std::vector<Matrix> rows;
  std::vector<std::string> labels;
  std::vector<Samples> samples;

  // `vectors`: a mapping from modalities to arrays, or an object with columns, such as a DataFrame.
  Table(const Model& model, const py::object& vectors, const py::object& given) {
    py::object own = given;
    py::dict mapping;
    if (py::hasattr(vectors, "columns")) {
      py::list modalities;
      for (const ModalitySpec& spec : model.modalities) {
        modalities.append(py::make_tuple(spec.name, spec.dimension));
      }
      const py::tuple split =
          py::module_::import("heft._tables").attr("split")(vectors, modalities, given);
      mapping = split[0];
      own = split[1];
    } else {
      mapping = MappingOf(vectors, "vectors");
    }
    labels = LabelsOf(own);
    for (const auto& [name, array] : mapping) {
      names.push_back(TextOf(name, "vectors"));
      const size_t index = Take(model.FindModality(names.back()));
      rows.push_back(MatrixOf(array, names.back()));
      const size_t wanted = model.modalities[index].dimension;
      if (rows.back().dimension == wanted) continue;
      Wrong(names.back() + ": vectors of dimension " + std::to_string(rows.back().dimension) +
            ", this workspace has " + std::to_string(wanted));
    }
    for (size_t i = 0; i < names.size(); ++i) {
      samples.push_back({.modality = names[i], .values = rows[i].values, .labels = labels});
    }
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
};

Model LearnedModel(const py::object& data, const py::object& model, const std::string& method,
                   const py::object& progress) {
  const py::object known = py::module_::import("heft").attr("Model");
  if (data.is_none() == model.is_none()) Wrong("give data for training, or a model");
  if (!model.is_none()) {
    return py::isinstance(model, known) ? model.cast<Model>()
                                        : known.attr("load")(model).cast<Model>();
  }
  return known.attr("train")(data, py::arg("method") = method, py::arg("progress") = progress)
      .cast<Model>();
}

WorkspaceHandle Open(const py::object& folder, const py::object& passphrase) {
  const std::string path = PathOf(folder);
  const PassphraseSource source = PassphraseOf(passphrase);
  return WorkspaceHandle(Call([&] { return Workspace::Open(path, source); }));
}

WorkspaceHandle CreateWorkspace(const py::object& folder, const py::object& data,
                                const py::object& model, const std::string& method,
                                const py::object& passphrase, const py::object& progress) {
  const std::string path = PathOf(folder);
  Call([&] { return Workspace::CheckFree(path); });
  const Model learned = LearnedModel(data, model, method, progress);
  const PassphraseSource source = PassphraseOf(passphrase);
  Watch watch(progress);
  Call([&] { return Workspace::Create(path, learned, source, watch.monitor()); });
  return Open(folder, passphrase);
}

// Decide: f(workspace, take) for decisions; an exception has those before it as `decisions`.
template <typename F>
py::list Decide(const WorkspaceHandle& self, F&& f) {
  const auto state = self.Get();
  std::vector<Decision> decisions;
  const absl::Status asked = [&] {
    const py::gil_scoped_release release;
    const std::lock_guard lock(state->mutex);
    return f(state->workspace, [&](size_t, const Decision& decision) {
      decisions.push_back(decision);
      return absl::OkStatus();
    });
  }();
  py::list out;
  for (Decision& decision : decisions) out.append(py::cast(std::move(decision)));
  try {
    if (absl::IsResourceExhausted(asked)) ThrowSpent(asked);
    Take(asked);
  } catch (const py::error_already_set& error) {
    if (PyObject_SetAttrString(error.value().ptr(), "decisions", out.ptr()) != 0) PyErr_Clear();
    throw;
  }
  return out;
}

DecisionRule RuleOf(std::optional<double> rate, std::optional<double> score, bool search) {
  DecisionRule rule;
  rule.score = score;
  if (rate) (search ? rule.fpir : rule.fmr) = rate;
  if (!rate && !score) (search ? rule.fpir : rule.fmr) = search ? kWorkspaceFpir : kWorkspaceFmr;
  return rule;
}

void DefineWorkspaceMaking(WorkspaceClass& c) {
  Init(c, &Open,
       "Opens a workspace made by create or `heft init`. passphrase: of its secret key, if it is\n"
       "sealed: a str, or a function that returns one. NotFound, FailedPrecondition.",
       py::arg("folder"), py::kw_only(), py::arg("passphrase") = py::none());
  StaticMethod(
      c, "create", &CreateWorkspace,
      "Makes a folder with the files of all roles, and opens it. data: a data folder or\n"
      "TrainingData to train a model, by method as for Model.train. model: a model or its file,\n"
      "instead. passphrase seals the secret key. Errors as check_free's and Model.train's.",
      py::arg("folder"), py::arg("data") = py::none(), py::kw_only(), py::arg("model") = py::none(),
      py::arg("method") = "", py::arg("passphrase") = py::none(), py::arg("progress") = py::none());
  StaticMethod(
      c, "check_free",
      [](const py::object& folder) {
        const std::string path = PathOf(folder);
        Call([&] { return Workspace::CheckFree(path); });
      },
      "Checks that create can make this folder. AlreadyExists; NotFound if the folder above\n"
      "does not exist.",
      py::arg("folder"));
  StaticMethod(
      c, "export_role",
      [](const py::object& folder, const std::string& role, const py::object& out) {
        const std::string from = PathOf(folder), to = PathOf(out);
        Call([&] { return Workspace::ExportRole(from, role, to); });
      },
      "Moves a role, \"device\", \"server\" or \"owner\", into a new folder, to be copied to\n"
      "its machine. NotFound, AlreadyExists, FailedPrecondition.",
      py::arg("folder"), py::arg("role"), py::arg("out"));
  c.def_property_readonly(
      "model", [](const WorkspaceHandle& self) { return self.Get()->workspace.model(); },
      "The model of all roles.");
  c.def_property_readonly(
      "gallery", [](const WorkspaceHandle& self) { return self.Get()->workspace.gallery(); },
      "Name of the server's gallery, as for Gallery.");
}

void DefineUse(WorkspaceClass& c) {
  Method(
      c, "add",
      [](const WorkspaceHandle& self, const py::object& vectors, const py::object& labels,
         const py::object& progress) {
        const auto state = self.Get();
        const Table table(state->workspace.model(), vectors, labels);
        Watch watch(progress);
        return Call([&] {
          const std::lock_guard lock(state->mutex);
          return state->workspace.Add(table.samples, watch.monitor());
        });
      },
      "Adds people: encrypts, enrols and activates each row under its label.\n\n"
      "vectors: a mapping from modalities to arrays, or a DataFrame with a column of vectors\n"
      "per modality (face), or a column per number (face_0, face_1, ...). labels: one per row;\n"
      "for a DataFrame the name of a column, default \"label\". InvalidArgument; AlreadyExists\n"
      "for a person who is enrolled already, without any change.",
      py::arg("vectors"), py::arg("labels") = py::none(), py::kw_only(),
      py::arg("progress") = py::none());
  Method(
      c, "search",
      [](const WorkspaceHandle& self, const py::object& vectors, std::optional<double> fpir,
         std::optional<double> score, const py::object& progress) {
        const Table table(self.Get()->workspace.model(), vectors, py::none());
        const DecisionRule rule = RuleOf(fpir, score, /*search=*/true);
        Watch watch(progress);
        return Decide(self, [&](Workspace& workspace, const Workspace::TakeDecision& take) {
          return workspace.Search(table.samples, rule, take, watch.monitor());
        });
      },
      "Searches for the person of each row; returns a Decision per row. fpir: false positive\n"
      "identification rate, 0.01 if neither fpir nor a score is given. An exception has the\n"
      "decisions of earlier rows as `decisions`. BudgetSpent, OutOfRange, InvalidArgument.",
      py::arg("vectors"), py::kw_only(), py::arg("fpir") = py::none(),
      py::arg("score") = py::none(), py::arg("progress") = py::none());
  Method(
      c, "verify",
      [](const WorkspaceHandle& self, const py::object& vectors, const std::string& identity,
         std::optional<double> fmr, std::optional<double> score, const py::object& progress) {
        const Table table(self.Get()->workspace.model(), vectors, py::none());
        const DecisionRule rule = RuleOf(fmr, score, /*search=*/false);
        Watch watch(progress);
        return Decide(self, [&](Workspace& workspace, const Workspace::TakeDecision& take) {
          return workspace.Verify(table.samples, identity, rule, take, watch.monitor());
        });
      },
      "Verifies that each row is of this person; returns a Decision per row. fmr: false match\n"
      "rate, 0.001 if neither fmr nor a score is given. The rest is as for search.",
      py::arg("vectors"), py::arg("identity"), py::kw_only(), py::arg("fmr") = py::none(),
      py::arg("score") = py::none(), py::arg("progress") = py::none());
  Method(
      c, "remove",
      [](const WorkspaceHandle& self, const py::object& identities, const py::object& progress) {
        const auto state = self.Get();
        const std::vector<std::string> names = LabelsOf(identities);
        Watch watch(progress);
        return Call([&] {
          const std::lock_guard lock(state->mutex);
          return state->workspace.Remove(names, watch.monitor());
        });
      },
      "Removes one or several people and erases their data. NotFound for a person who is not\n"
      "enrolled, without any change.",
      py::arg("identities"), py::kw_only(), py::arg("progress") = py::none());
}

// Dispatch: the type of Workspace. Called with a service's address, it makes the client's
// Workspace.
py::object Dispatch(const py::module_& m) {
  const py::object base = py::type::of(m.attr("Model"));
  const auto call = [base](const py::object& self, const py::args& args, const py::kwargs& named) {
    if (!args.empty() && py::isinstance<py::str>(args[0])) {
      const auto place = args[0].cast<std::string>();
      if (place.starts_with("https://") || place.starts_with("http://")) {
        return py::module_::import("heft.service").attr("Workspace")(*args, **named);
      }
    }
    auto* type = reinterpret_cast<PyTypeObject*>(base.ptr());
    PyObject* made = type->tp_call(self.ptr(), args.ptr(), named.ptr());
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
  };
  py::dict own;
  own["__call__"] = py::cpp_function(call, py::name("__call__"), py::is_method(base));
  own["__module__"] = "heft._heft";
  return py::type::of(base)("WorkspaceType", py::make_tuple(base), own);
}

}  // namespace

void DefineWorkspace(py::module_& m) {
  WorkspaceClass c(
      m, "Workspace", py::metaclass(Dispatch(m)),
      "All roles on one machine, each in its own folder, which can move to its own machine\n"
      "later: device/ encrypts, server/ matches, owner/ decides. Files, signatures, checks and\n"
      "journal are the same as on separate machines. With a service's address instead of a "
      "folder,\n"
      "Workspace(\"https://...\", gallery, trust=...), the same calls go to the services, and the\n"
      "result is a heft.service.Workspace, whose arguments it takes.");
  DefineWorkspaceMaking(c);
  DefineUse(c);
  c.def("__repr__", [](const WorkspaceHandle& self) {
    return self.closed() ? std::string("<heft.Workspace, closed>")
                         : "<heft.Workspace " + self.Get()->workspace.gallery() + ">";
  });
  ContextManager(c, "Wipes the secret key after the calls that use it have returned.");
  RefuseCopies(c, "a Workspace is not pickled or copied: open its folder again");
}

}  // namespace heft::python
