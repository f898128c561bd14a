#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the API reference of C++ and C: one a header.

    api_pages.py REPOSITORY FOLDER
"""
import pathlib
import re
import sys

HEADER_PAGE = """# `{name}`

```{{eval-rst}}
.. doxygenfile:: {path}
   :sections: briefdescription detaileddescription innernamespace innerclass enum typedef func var define public-type public-func public-attrib public-static-func
```
"""


def listed(heft_h):
    """Headers that heft.h speaks of, in its order."""
    return list(dict.fromkeys(re.findall(r"heft/([a-z_]+\.h)", heft_h)))


def cpp_pages(root, folder):
    include = root / "include/heft"
    names = [name for name in listed((include / "heft.h").read_text()) if (include / name).exists()]
    names += sorted(path.name for path in include.glob("*.h") if path.name not in names)
    (folder / "cpp").mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / "cpp" / f"{name[:-2]}.md").write_text(
            HEADER_PAGE.format(name=f"heft/{name}", path=f"include/heft/{name}"))
    return [f"cpp/{name[:-2]}" for name in names]


def toctree(pages):
    return "\n```{toctree}\n:maxdepth: 1\n\n" + "\n".join(pages) + "\n```\n"


def c_pages(root, folder):
    """The C interface: heft.h says what is where, heft/c/ has it."""
    (folder / "c").mkdir(parents=True, exist_ok=True)
    (folder / "c/heft.md").write_text(HEADER_PAGE.format(name="heft.h", path="include/heft.h"))
    pages = ["c/heft"]
    for path in sorted((root / "include/heft/c").glob("*.h")):
        name = f"heft/c/{path.name}"
        (folder / "c" / f"{path.stem}.md").write_text(HEADER_PAGE.format(name=name, path="include/" + name))
        pages.append(f"c/{path.stem}")
    (folder / "c.md").write_text("# C\n\nThe interface with a stable ABI ({doc}`/docs/abi`), for C and every "
                                 "language that calls C.\n" + toctree(pages))


def main():
    root, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "cpp.md", "a", encoding="utf-8") as page:
        page.write(toctree(cpp_pages(root, folder)))
    c_pages(root, folder)


if __name__ == "__main__":
    main()
