#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of Python: the API, of the package's sources, and the notebook.

    python_pages.py REPOSITORY FOLDER
"""
import ast
import inspect
import json
import pathlib
import re
import sys


def plain(text):
    """Text in which reStructuredText sees no markup."""
    return re.sub(r"([\\*`|_])", r"\\\1", text)


def signature(function, method):
    """The arguments and the result, as the sources have them."""
    arguments = ast.parse(ast.unparse(function)).body[0].args
    if method and "staticmethod" not in decorator_names(function):
        (arguments.posonlyargs or arguments.args)[:1] = []
    result = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"({ast.unparse(arguments)}){result}"


def decorator_names(function):
    return {ast.unparse(decorator) for decorator in function.decorator_list}


def text_of(node):
    """The docstring of a definition; of a record's field, its meaning."""
    if isinstance(node, ast.AnnAssign):
        return ast.literal_eval(node.value.args[0])
    return ast.get_docstring(node) or ""


class Sources:
    """The definitions of the package."""

    def __init__(self, package):
        self.modules = {}
        for path in package.glob("_*.py"):
            body = ast.parse(path.read_text()).body
            self.modules[path.stem] = {node.name: node for node in body
                                       if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        imports = [node for node in ast.parse((package / "__init__.py").read_text()).body
                   if isinstance(node, ast.ImportFrom) and node.module.startswith("heft._")]
        self.public = [self.modules[node.module.removeprefix("heft.")][name.name]
                       for node in imports for name in node.names]

    def base(self, expression):
        """A base class; None if it is not the package's."""
        *module, name = ast.unparse(expression).split(".")
        places = module or [each for each in self.modules if each != "_record_methods"]
        return next((self.modules[each][name] for each in places if name in self.modules.get(each, {})), None)

    def members(self, node):
        """The public methods, properties and fields of a class, with those of its bases."""
        found = {}
        for member in node.body:
            if isinstance(member, ast.FunctionDef):
                found.setdefault(member.name, []).append(member)
            elif isinstance(member, ast.AnnAssign) and isinstance(member.value, ast.Call) and \
                    ast.unparse(member.value.func) == "field":
                found[member.target.id] = [member]
        for base in filter(None, map(self.base, node.bases)):
            for name, inherited in self.members(base).items():
                if name != "__init__":
                    found.setdefault(name, inherited)
        return {name: each for name, each in found.items() if name == "__init__" or not name.startswith("_")}


class Writer:
    """The page."""

    def __init__(self, sources):
        self.sources, self.lines = sources, []

    def text(self, text, indent):
        """A text of the sources."""
        self.lines += [(indent + plain(line.strip())).rstrip() for line in inspect.cleandoc(text).splitlines()]
        self.lines.append("")

    def function(self, node, indent, method):
        names = decorator_names(node) if isinstance(node, ast.FunctionDef) else {"property"}
        if not method:
            self.lines.append(f"{indent}.. py:function:: {node.name}{signature(node, False)}")
        elif "property" in names:
            name, kind = (node.name, node.returns) if isinstance(node, ast.FunctionDef) else \
                (node.target.id, node.annotation)
            self.lines += [f"{indent}.. py:property:: {name}", f"{indent}   :type: {ast.unparse(kind)}"]
        else:
            self.lines.append(f"{indent}.. py:method:: {node.name}{signature(node, True)}")
            self.lines += [f"{indent}   :{kind}:" for kind in ("classmethod", "staticmethod")
                           if kind in names]
        self.lines.append("")
        self.text(text_of(node), indent + "   ")

    def class_(self, node):
        self.lines += [f".. py:class:: {node.name}", ""]
        self.text(text_of(node), "   ")
        for definitions in self.sources.members(node).values():
            self.function(definitions[0], "   ", True)  # the first overload


def api_page(root, folder):
    writer = Writer(Sources(root / "python/heft"))
    for node in sorted(writer.sources.public, key=lambda node: (isinstance(node, ast.FunctionDef), node.name)):
        if isinstance(node, ast.ClassDef):
            writer.class_(node)
        else:
            writer.function(node, "", False)
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
    api_page(root, folder)
    notebook_page(root, folder)


if __name__ == "__main__":
    main()
