#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of Python: the API, of the package's type stub and the texts of the built module, and
the notebook.

    python_pages.py REPOSITORY FOLDER [MODULES]

MODULES: a folder in which `import heft` finds the package. Without it calls stand there without texts.
"""
import ast
import importlib
import json
import pathlib
import re
import sys


def plain(text):
    """Text in which reStructuredText sees no markup."""
    return re.sub(r"([\\*`|_])", r"\\\1", text)


def signature(function, method):
    """The arguments and the result, as the stub has them."""
    arguments = ast.parse(ast.unparse(function)).body[0].args
    if method and "staticmethod" not in decorator_names(function):
        (arguments.posonlyargs or arguments.args)[:1] = []
    result = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"({ast.unparse(arguments)}){result}"


def decorator_names(function):
    return {ast.unparse(decorator) for decorator in function.decorator_list}


class Writer:
    """The page, from the stub's declarations and the module's texts."""

    def __init__(self, module):
        self.module, self.lines = module, []

    def text(self, path, indent):
        """What the module says of a name; nothing where there is no module."""
        owner = self.module
        for part in path:
            owner = getattr(owner, part, None)
        doc = getattr(owner, "__doc__", None) if self.module else None
        for line in (doc or "").splitlines():
            self.lines.append((indent + plain(line.strip())).rstrip())
        self.lines.append("")

    def function(self, node, path, indent):
        names = decorator_names(node)
        if "overload" in names and self.lines and path == getattr(self, "last", None):
            return
        self.last = path
        if len(path) == 1:
            self.lines.append(f"{indent}.. py:function:: {node.name}{signature(node, False)}")
        elif "property" in names:
            self.lines.append(f"{indent}.. py:property:: {node.name}")
            self.lines.append(f"{indent}   :type: {ast.unparse(node.returns)}")
        else:
            self.lines.append(f"{indent}.. py:method:: {node.name}{signature(node, True)}")
            self.lines += [f"{indent}   :{kind}:" for kind in ("classmethod", "staticmethod")
                           if kind in names]
        self.lines.append("")
        self.text(path, indent + "   ")

    def class_(self, node):
        self.lines += [f".. py:class:: {node.name}", ""]
        self.text((node.name,), "   ")
        for member in node.body:
            if not isinstance(member, ast.FunctionDef):
                continue
            if member.name.startswith("_") and member.name != "__init__":
                continue
            self.function(member, (node.name, member.name), "   ")


def api_page(root, folder, modules):
    module = None
    if modules:
        sys.path.insert(0, modules)
        module = importlib.import_module("heft")
    writer = Writer(module)
    tree = ast.parse((root / "python/heft/_heft.pyi").read_text())
    nodes = [node for node in tree.body
             if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")]
    for node in sorted(nodes, key=lambda node: (isinstance(node, ast.FunctionDef), node.name)):
        if isinstance(node, ast.ClassDef):
            writer.class_(node)
        else:
            writer.function(node, (node.name,), "")
    body = "\n".join(writer.lines)
    (folder / "api/python.md").write_text(
        "# Python\n\nThe package `heft`. {doc}`/docs/python` is the guide, {doc}`/tutorials/python` the "
        f"tutorial.\n\n````{{eval-rst}}\n.. py:module:: heft\n\n{body}\n````\n")


def notebook_page(root, folder):
    """The notebook as a page, without what it prints."""
    text = ""
    for cell in json.loads((root / "docs/tutorials/python.ipynb").read_text())["cells"]:
        source = "".join(cell["source"]).rstrip()
        if cell["cell_type"] == "code":
            source = f"```python\n{source}\n```"
        text += source + "\n\n"
    (folder / "tutorials/python.md").write_text(text)


def main():
    root, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    api_page(root, folder, sys.argv[3] if len(sys.argv) > 3 else "")
    notebook_page(root, folder)


if __name__ == "__main__":
    main()
