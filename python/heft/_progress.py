# SPDX-License-Identifier: Apache-2.0
"""The display of progress=True: a bar if tqdm is installed, otherwise lines on stderr."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any, Optional

_tqdm: Any = None  # a line a second instead
try:
    _tqdm = importlib.import_module("tqdm.auto").tqdm
except ImportError:
    pass


class Lines:
    """Prints at most one line a second."""

    def __init__(self) -> None:
        self._last: Optional[float] = None

    def __call__(self, what: str, done: int, total: int, note: str) -> bool:
        now = time.monotonic()
        if self._last is None or now - self._last >= 1 or done == total:
            self._last = now
            print(f"heft: {what} {done}/{total} {note}".rstrip(), file=sys.stderr)
        return True

    def close(self) -> None:
        """Nothing to do."""


class Bar:
    """Shows one bar for each job."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._what = ""

    def __call__(self, what: str, done: int, total: int, note: str) -> bool:
        if self._bar is None or what != self._what:
            self.close()
            self._bar = _tqdm(total=total, desc=what)
            self._what = what
        self._bar.total = total
        self._bar.n = done
        if note:
            self._bar.set_postfix_str(note, refresh=False)
        self._bar.refresh()
        return True

    def close(self) -> None:
        """Ends the bar and leaves it on the screen."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None


def bar() -> Any:
    """A callback with close()."""
    return Lines() if _tqdm is None else Bar()
