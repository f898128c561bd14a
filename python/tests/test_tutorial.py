# SPDX-License-Identifier: Apache-2.0
"""The tutorial runs from its first cell to its last, and draws its plots."""

import importlib
import os
import pathlib
from typing import Any

import pytest

NOTEBOOK = pathlib.Path(os.environ["HEFT_SOURCE_DIR"]) / "docs" / "tutorials" / "python.ipynb"


def test_the_notebook(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat: Any = importlib.import_module("nbformat")
    nbclient: Any = importlib.import_module("nbclient")
    monkeypatch.setenv("HEFT_TUTORIAL_DATA", str(tmp_path / "nowhere"))  # people who do not exist
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "kept without outputs"
    nbclient.NotebookClient(notebook, timeout=300, resources={
        "metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [o for o in shown if "image/png" in o.get("data", {})]
    assert len(pictures) == 2 and not any(o.output_type == "error" for o in shown)
