#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the links of a built site: pages, pictures and anchors that are there, and nothing loaded from
elsewhere. Prints what is not; exit code 1 if anything.

    check_links.py FOLDER
"""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The links of a page, what it loads, and its anchors."""

    LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src"}

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors.update(attributes[key] for key in ("id", "name") if attributes.get(key))
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        loaded = attributes.get(self.LOADS.get(tag, ""))
        if loaded and attributes.get("rel") not in ("canonical",):
            self.loads.append(loaded)


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in folder.rglob("*.html")}
    wrong, checked = [], 0
    for path, page in pages.items():
        name = path.relative_to(folder)
        for target in page.loads:
            if urllib.parse.urlsplit(target).scheme not in ("", "data"):
                wrong.append(f"{name}: loads {target} from elsewhere")
        for target in page.links + page.loads:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            checked += 1
            file = path if not parts.path else (path.parent / urllib.parse.unquote(parts.path)).resolve()
            if not file.is_file():
                wrong.append(f"{name}: no file {target}")
            elif parts.fragment and file in pages:
                if urllib.parse.unquote(parts.fragment) not in pages[file].anchors:
                    wrong.append(f"{name}: no anchor {target}")
    print("\n".join(wrong) if wrong else f"{checked} links of {len(pages)} pages lead somewhere",
          file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
