// SPDX-License-Identifier: Apache-2.0
// heft._heft: the library's contract (include/heft/) for Python; the package heft shows it.
#include "heft/runtime.h"
#include "python/inspection.h"
#include "python/values.h"

namespace heft::python {
namespace {

void DefineRuntime(py::module_& m) {
  Function(
      m, "give_way", [] { Call([] { return GiveWay(); }); },
      "From here on the calling thread gives way where there are not cores enough, and so do "
      "those\n"
      "that work on what it calls: for threads that enrol while others answer probes. There is no "
      "way\n"
      "back. Unavailable where the system refuses.");
  Function(
      m, "check_secure_memory", [] { Take(SecureMemoryStatus()); },
      "Unavailable, with what to do, where memory for secrets could not be locked against "
      "swapping; they\n"
      "work all the same.");
  Function(m, "set_threads", &SetThreadCount,
           "Threads that calls use, the caller's included; 0: all cores. Not while a call runs.",
           py::arg("threads"));
  Function(m, "threads", &ThreadCount, "How many threads calls use.");
  Function(m, "instruction_sets", &InstructionSets,
           "That this machine has and the library can use, best first.");
  Function(m, "active_instruction_set", &ActiveInstructionSet, "The one in use.");
  Function(
      m, "disable_core_dumps", [] { Call([] { return DisableCoreDumps(); }); },
      "Keeps this process out of core dumps and debuggers: for programs with secret keys.");
}

}  // namespace

PYBIND11_MODULE(_heft, m) {
  m.doc() = "The C++ library's contract; import heft instead.";
  py::options options;
  options.disable_function_signatures();
  options.disable_enum_members_docstring();
  FindErrors();
  WatchLocks();
  py::register_local_exception_translator(&Translate);
  DefineDecisions(m);
  DefineModel(m);
  DefineTraining(m);
  DefineTrust(m);
  DefineClient(m);
  DefineGallery(m);
  DefineExpandedKeys(m);
  DefineSharding(m);
  DefineMatcher(m);
  DefineMatching(m);
  DefineGalleryAdmin(m);
  DefineAudit(m);
  DefineOpenings(m);
  DefineKeyOwner(m);
  DefineWorkspace(m);
  DefineRuntime(m);
  DefineInspection(m);
  DefineConditions(m);
  DefineOutsideSigners(m);
}

}  // namespace heft::python
