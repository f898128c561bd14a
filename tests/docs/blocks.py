#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The code blocks of the site's pages. A fence says what a block is: shell, python, sql, cmake, cpp, javascript
and json are code, which tests run; text is none. Anything else is refused, a block without a fence too. Code in comments of
the public headers stands on the site as well; header_examples.cc and .c compile it.

    blocks.py check REPOSITORY [--run PAGE]... [--cpp PAGE]... [--javascript PAGE]...
        refuses blocks that say nothing of what they are, and code on pages that no test runs: those of --run are
        run by run_page.py, C++ and JavaScript by tests of their own; and pages of docs/ that README.md does not link,
        and links to pages and files that do not exist
    blocks.py html REPOSITORY FOLDER
        refuses code of a built site that stands on none of those pages
    blocks.py extract LANGUAGE PAGE FILE
        writes the blocks of a language, one after the other
    blocks.py headers REPOSITORY FOLDER
        writes the code in comments of headers, each as FOLDER/HEADER.NUMBER, with / as _
    blocks.py --self-test
"""
import argparse
import dataclasses
import html.parser
import json
import pathlib
import re
import sys
import textwrap

CODE = ("shell", "python", "sql", "psql", "cmake", "cpp", "javascript", "json")
NO_CODE = ("text", "{toctree}")
FENCE = re.compile(r"^( *)(`{3,}|~{3,}|:{3,})([^`]*)$")
ITEM = re.compile(r"^( *)(?:[-*+]|\d+[.)])( +)\S")


@dataclasses.dataclass
class Block:
    page: str      # as it was given
    line: int      # of its first line
    language: str  # what its fence says; "" where it says nothing or is not there
    text: str

    def at(self):
        return f"{self.page}:{self.line}"


def blocks_of(text, page):
    """The blocks of a page, in order. A block without a fence has no language, as one whose fence has none."""
    found, items, lines, at, blank = [], [], text.splitlines(), 0, True
    while at < len(lines):
        line, start = lines[at], at
        at += 1
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip():
            blank = True
            continue
        fence = FENCE.match(line)
        while items and indent < items[-1] and (blank or ITEM.match(line) or fence):
            items.pop()
        floor = items[-1] if items else 0
        if fence and indent < floor + 4:
            end = re.compile(rf"^ *{fence[2][0]}{{{len(fence[2])},}} *$")
            while at < len(lines) and not end.match(lines[at]):
                at += 1
            body = [inner[min(indent, len(inner) - len(inner.lstrip(" "))):] for inner in lines[start + 1:at]]
            found.append(Block(page, start + 2, (fence[3].split() or [""])[0], "\n".join(body) + "\n"))
            at += 1
            blank = True  # what follows begins anew
            continue
        if re.search(r"<pre\b", line) or (blank and indent >= floor + 4):
            while at < len(lines) and lines[at].startswith(" " * (floor + 4)):
                at += 1
            found.append(Block(page, start + 1, "", "\n".join(lines[start:at]) + "\n"))
        item = ITEM.match(line)
        if item:
            items.append(len(item[0]) - 1)
        blank = line.lstrip().startswith("#")
    return found


def pages(root):
    """Those of the site, from the repository's root."""
    found = [root / name for name in ("README.md", "SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    found += sorted((root / "docs").glob("*.md")) + sorted((root / "docs/site").rglob("*.md"))
    return [str(path.relative_to(root)) for path in found]


def read(root, page):
    return blocks_of((root / page).read_text(encoding="utf-8"), page)


def wrong_with(block, given):
    """What is wrong with a block, "" if nothing. given: the pages whose code is run, by language."""
    if block.language in NO_CODE:
        return ""
    if block.language not in CODE:
        return f"a block whose fence is none of {', '.join(CODE + NO_CODE)}: \"{block.language}\""
    by = block.language if block.language in ("cpp", "javascript") else "run"
    return "" if block.page in given[by] else f"code that no test runs (tests/docs/CMakeLists.txt): {block.language}"


def unlinked(root):
    """Pages of docs/ to which README.md has no link."""
    linked = set(re.findall(r"\]\(([^)#]+)", (root / "README.md").read_text(encoding="utf-8")))
    return [f"README.md: no link to {page}" for path in sorted((root / "docs").glob("*.md"))
            if (page := str(path.relative_to(root))) not in linked]


def links(text):
    """The targets of a page's links: of {doc}`TARGET`, and of [text](TARGET) in this repository."""
    text = re.sub(r"^ *(`{3,}).*?^ *\1", "", text, flags=re.MULTILINE | re.DOTALL)  # code has none
    named = re.findall(r"\{doc}`(?:[^`<]*<)?([^`>]+)>?`", text)
    return named, [file for file in re.findall(r"\]\(([^)#\s]+)", text) if ":" not in file]


def lost(root):
    """Links to nothing. A page of docs/site stands at the site's root; those of calls and the notebook are generated."""
    site = "docs/site/"
    known = {page.removeprefix(site).removesuffix(".md") for page in pages(root)}
    for page in pages(root):
        named, files = links((root / page).read_text(encoding="utf-8"))
        here = pathlib.PurePosixPath(page.removeprefix(site)).parent
        for target in named:
            name = target[1:] if target.startswith("/") else str(here / target)
            if name not in known and name != "tutorials/python" and not name.startswith("api/"):
                yield f"{page}: no page {target}"
        for file in files:
            if not any((folder / file).exists() for folder in ((root / page).parent, root / here)):
                yield f"{page}: no file {file}"


def check(root, given):
    found = [block for page in pages(root) for block in read(root, page)]
    wrong = [f"{block.at()}: {why}" for block in found if (why := wrong_with(block, given))]
    held = {block.page for block in found if block.language in CODE}
    wrong += [f"{page}: has no code" for listed in given.values() for page in listed if page not in held]
    wrong += uncompiled(root) + unlinked(root) + list(lost(root))
    code = sum(block.language in CODE for block in found)
    text = sum(block.language == "text" for block in found)
    print("\n".join(wrong) if wrong else
          f"{code} blocks of code on {len(held)} pages, each run by a test; {text} blocks are none")
    return not wrong


class Site(html.parser.HTMLParser):
    """(language, text) of the code on a page of the site."""

    def __init__(self, text):
        super().__init__()
        self.language, self.inside, self.found = None, False, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        classes = (dict(attrs).get("class") or "").split()
        named = [name[len("highlight-"):] for name in classes if name.startswith("highlight-")]
        if tag == "div" and named:
            self.language = named[0]
        if tag == "pre":
            self.inside = True
            self.found.append([self.language or "", ""])

    def handle_endtag(self, tag):
        if tag == "pre":
            self.inside, self.language = False, None

    def handle_data(self, data):
        if self.inside:
            self.found[-1][1] += data


def header_examples(root):
    """(name, path, line, text) of the code in comments of the public headers."""
    sys.path.insert(0, str(root / "docs/site"))
    import doxygen_filter  # which decides what is code
    for path in sorted((root / "include").rglob("*.h")):
        name = str(path.relative_to(root / "include")).replace("/", "_")
        for number, (line, text) in enumerate(doxygen_filter.examples(path), 1):
            yield f"{name}.{number}", path, line, text


def write_headers(root, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, path, line, text in header_examples(root):
        (folder / name).write_text(f'#line {line} "{path}"\n{text}', encoding="utf-8")


def uncompiled(root):
    """Code in headers' comments that no program includes."""
    programs = "".join((root / f"tests/docs/header_examples.{kind}").read_text(encoding="utf-8") for kind in ("cc", "c"))
    return [f"{path.relative_to(root)}:{line}: code that tests/docs/header_examples.* do not include as \"{name}\""
            for name, path, line, _ in header_examples(root) if f'#include "tests/docs/headers/{name}"' not in programs]


def notebook(root):
    cells = json.loads((root / "docs/tutorials/python.ipynb").read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def check_site(root, folder):
    plain = lambda text: " ".join(text.split())
    known = {plain(block.text) for page in pages(root) for block in read(root, page)}
    known.update(map(plain, notebook(root)))  # which python_tutorial_test runs
    known.update(plain(text) for _, _, _, text in header_examples(root))
    wrong, seen = [], 0  # "none" is what neither a page nor a header calls code (docs/site/conf.py)
    for path in sorted(folder.rglob("*.html")):
        for language, text in Site(path.read_text(encoding="utf-8")).found:
            seen += 1
            if plain(text) not in known and language != "none":
                wrong.append(f"{path.relative_to(folder)}: code ({language}) that no test runs: {text.strip().splitlines()[0]}")
    print("\n".join(wrong) if wrong else f"{seen} blocks on the site, all of them from pages whose code is run", file=sys.stderr)
    return not wrong and seen > 0


def extract(language, page, out):
    chosen = [f'#line {block.line} "{page}"\n{block.text}' if language == "cpp" else block.text
              for block in blocks_of(pathlib.Path(page).read_text(encoding="utf-8"), page) if block.language == language]
    if not chosen:
        sys.exit(f"{page}: no blocks of {language}")
    pathlib.Path(out).write_text("".join(chosen), encoding="utf-8")


def self_test():
    page = textwrap.dedent("""\
        # A page

            indented
            code

        - item

          more of it, which is no code
          ```shell
          in an item
            indented
          ```

              code in an item

        text
            that goes on

        ````text
        ```python
        ````
        ```
        no language
        ```
        1. one
           ~~~python
           two
           ~~~
        <pre>raw</pre>
        ## A heading
            code after it
        """)
    found = [(block.line, block.language, block.text) for block in blocks_of(page, "page")]
    assert found == [(3, "", "    indented\n    code\n"), (10, "shell", "in an item\n  indented\n"), (14, "", "      code in an item\n"),
                     (20, "text", "```python\n"), (23, "", "no language\n"), (27, "python", "two\n"), (29, "", "<pre>raw</pre>\n"),
                     (31, "", "    code after it\n")], found
    given = {"run": ["page"], "cpp": [], "javascript": []}
    wrong = [bool(wrong_with(Block("page", 1, language, ""), given)) for language in ("shell", "text", "", "bash", "cpp", "{code-block}")]
    assert wrong == [False, False, True, True, True, True], wrong
    assert wrong_with(Block("other", 1, "shell", ""), given)
    assert links("{doc}`/a/b` {doc}`text <c>` [d](e.md#f) ![g](h.svg) [i](https://j)") == (["/a/b", "c"], ["e.md", "h.svg"])
    site = Site('<div class="highlight-cpp x"><div class="highlight"><pre><span></span>int <b>a</b> &lt; 1;\n</pre></div></div><pre>b</pre>')
    assert site.found == [["cpp", "int a < 1;\n"], ["", "b"]], site.found
    print("blocks.py: the self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("check")
    one.add_argument("root", type=pathlib.Path)
    for name in ("run", "cpp", "javascript"):
        one.add_argument(f"--{name}", action="append", default=[])
    for name in ("html", "headers"):
        two = commands.add_parser(name)
        two.add_argument("root", type=pathlib.Path)
        two.add_argument("folder", type=pathlib.Path)
    three = commands.add_parser("extract")
    for name in ("language", "page", "out"):
        three.add_argument(name)
    given = vars(parser.parse_args())
    if given["command"] == "extract":
        return extract(given["language"], given["page"], given["out"])
    if given["command"] == "headers":
        return write_headers(given["root"], given["folder"])
    if given["command"] == "html":
        sys.exit(not check_site(given["root"], given["folder"]))
    sys.exit(not check(given["root"], {name: given[name] for name in ("run", "cpp", "javascript")}))


if __name__ == "__main__":
    main()
