# SPDX-License-Identifier: Apache-2.0
"""Settings of this process: threads, vector instructions and memory for secrets."""

from __future__ import annotations

import ctypes

from heft._library import call, function, raise_error


def give_way() -> None:
    """From here on the calling thread, and threads that work for it, yield to others when
    there are not enough cores: for threads that enrol while others answer probes. This
    cannot be undone. Unavailable if the system refuses."""
    error = ctypes.c_void_p()
    status = function("heft_give_way")(ctypes.byref(error))
    if status != 0:
        raise_error(status, error)
    call("heft_give_way")  # for the main thread, calls run in another one


def check_secure_memory() -> None:
    """Raises Unavailable, with advice, if memory for secrets could not be locked against
    swapping; secrets can be used even so."""
    call("heft_secure_memory")


def set_threads(threads: int) -> None:
    """Sets how many threads calls use, the caller's included; 0: all cores. Do not call it
    while another call runs."""
    call("heft_set_thread_count", threads)


def threads() -> int:
    """The number of threads that calls use."""
    return int(call("heft_thread_count"))


def instruction_sets() -> list[str]:
    """Instruction sets that this machine has and the library can use, best first."""
    return list(call("heft_instruction_sets"))


def active_instruction_set() -> str:
    """The instruction set in use."""
    return str(call("heft_instruction_set"))


def disable_core_dumps() -> None:
    """Excludes this process from core dumps and debuggers: for programs with secret keys."""
    call("heft_disable_core_dumps")
