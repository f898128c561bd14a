#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All of HEFT's C interface from another language: Python, by the calls of its package.

    PYTHONPATH=build/release/python tests/c/whole_flow.py HEFT HEFT_SERVER [TEST...]

Run by CTest in an empty folder. Every function that heft.h declares must have been called by the end.
"""
import sys
import unittest

sys.dont_write_bytecode = True
from world import heft  # noqa: E402
from basics_flow import Basics, Callbacks, Kinds, Learning  # noqa: E402,F401
from evaluate_flow import Mathematics, Measuring  # noqa: E402,F401
from keys_flow import Keys  # noqa: E402,F401
from matching_flow import Matching  # noqa: E402,F401
from shards_flow import Shards  # noqa: E402,F401
from shared_flow import Shared  # noqa: E402,F401
from exchange_flow import Exchange, Workspaces  # noqa: E402,F401
from gallery_flow import Administration  # noqa: E402,F401
from arguments_flow import Arguments  # noqa: E402,F401
import promises  # noqa: E402


class ZCompleteness(unittest.TestCase):
    """The last in the alphabet: what the others have seen."""

    def test_options_and_results_stay(self):
        """What no header shows is promised too: docs/abi.md."""
        self.assertEqual(promises.changes(heft), [])

    def test_every_function_was_called(self):
        self.assertEqual(sorted(set(heft.functions) - heft.called), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
