// SPDX-License-Identifier: Apache-2.0
// heft._heft: the library's contract (include/heft/) for Python; the package heft shows it.
#include "heft/base.h"
#include "python/inspection.h"
#include "python/values.h"

namespace heft::python {
namespace {

void DefineRuntime(py::module_& m) {
  Function(
      m, "give_way", [] { Call([] { return GiveWay(); }); },
      "From here on the calling thread, and threads that work for it, yield to others when\n"
      "there are not enough cores: for threads that enrol while others answer probes. This\n"
      "cannot be undone. Unavailable if the system refuses.");
  Function(
      m, "check_secure_memory", [] { Take(SecureMemoryStatus()); },
      "Raises Unavailable, with advice, if memory for secrets could not be locked against\n"
      "swapping; secrets can be used even so.");
  Function(m, "set_threads", &SetThreadCount,
           "Sets how many threads calls use, the caller's included; 0: all cores. Do not call it\n"
           "while another call runs.",
           py::arg("threads"));
  Function(m, "threads", &ThreadCount, "The number of threads that calls use.");
  Function(m, "instruction_sets", &InstructionSets,
           "Instruction sets that this machine has and the library can use, best first.");
  Function(m, "active_instruction_set", &ActiveInstructionSet, "The instruction set in use.");
  Function(
      m, "disable_core_dumps", [] { Call([] { return DisableCoreDumps(); }); },
      "Excludes this process from core dumps and debuggers: for programs with secret keys.");
}

}  // namespace

PYBIND11_MODULE(_heft, m) {
  m.doc() = "The bindings of the C++ library; import heft instead.";
  py::options options;
  options.disable_function_signatures();
  options.disable_enum_members_docstring();
  FindErrors();
  WatchLocks();
  py::register_local_exception_translator(&Translate);
  DefineRecords(m);
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
