# SPDX-License-Identifier: Apache-2.0
"""The documentation site: scripts/build-docs lays out the sources and runs Sphinx on them.

The tree that it reads is the repository's own: README.md, SECURITY.md and the like at its root, docs/
below it, and what stands in docs/site/ beside this file at the root too.
"""
import logging
import os

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

project = "HEFT"
author = "the authors of HEFT"
copyright = author + ", Apache License 2.0"
version = release = os.environ.get("HEFT_VERSION", "")

extensions = ["myst_parser", "breathe", "sphinx_copybutton"]
html_theme = "furo"
html_title = "HEFT " + version
html_static_path = ["static"]
html_css_files = ["heft.css"]
html_show_sourcelink = False
html_copy_source = False
# Pages stand in folders as they are in the repository; nothing is loaded from elsewhere.
html_theme_options = {"sidebar_hide_name": False}
pygments_style = "friendly"
# What does not say that it is code is none.
highlight_language = "none"

source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["LICENSE"]
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 4
nitpicky = True

# What the headers say of the standard library and of Abseil has no page here.
breathe_projects = {"heft": os.environ.get("HEFT_DOXYGEN_XML", "doxygen/xml")}
breathe_default_project = "heft"
breathe_domain_by_extension = {"h": "cpp"}
breathe_show_include = False
nitpick_ignore_regex = [(r"c(pp)?:.*", r".*"), (r"py:.*", r".*")]
cpp_id_attributes = ["HEFT_EXPORT", "HEFT_HIDDEN"]
c_id_attributes = ["HEFT_C_EXPORT", "HEFT_EXPORT"]


def page_of(text, docs):
    """The page that `docs/x.md` and the like name, or None."""
    name = text[:-3] if text.endswith(".md") else None
    return name if name in docs else None


class LinkPages(SphinxTransform):
    """Makes links of pages that a text names as `docs/learning.md`, as the repository's texts do."""

    default_priority = 10  # before references are resolved

    def apply(self, **kwargs):
        docs = self.env.found_docs
        for literal in list(self.document.findall(nodes.literal)):
            page = page_of(literal.astext(), docs)
            if page is None or page == self.env.docname:
                continue
            if isinstance(literal.parent, (nodes.reference, nodes.title)):
                continue
            reference = addnodes.pending_xref(
                "", literal.deepcopy(), refdomain="std", reftype="doc", refdoc=self.env.docname,
                reftarget="/" + page, refexplicit=True)
            literal.replace_self(reference)


class OneNamespace(logging.Filter):
    """Every header declares the namespace heft, which Sphinx would have declared once."""

    def filter(self, record):
        return not ("Duplicate C++ declaration" in record.getMessage() and
                    ".. cpp:type:: heft'" in record.getMessage())


def setup(app):
    logging.getLogger("sphinx.sphinx.domains.cpp").addFilter(OneNamespace())
    app.add_transform(LinkPages)
