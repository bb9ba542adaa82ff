"""How Sphinx makes the site of these pages: `make docs`. The pages themselves are plain Markdown, to be read anywhere.

The folder of the sources is that of the repository, so that a link from a page to the README, or to an example, is the
same in the site as in a checkout. What is no page is copied, as a file to download.
"""

from __future__ import annotations

import re
from pathlib import Path
from pydoc import locate
from types import ModuleType

from sphinx.application import Sphinx

import clika_pytree

project = "clika_pytree"
version = release = clika_pytree.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "bench/README.md", "docs/**.md"]
exclude_patterns = ["build", "target", "**/target", ".*", "tests", "rust", "clika_pytree"]
root_doc = "README"
default_role = "py:obj"  # what docstrings have in `backticks` leads to its entry, where it has one
keep_warnings = True

myst_heading_anchors = 4  # as GitHub makes them
autodoc_typehints = "none"  # signatures with whole types are wider than a page; `help` and the stub have them
autodoc_member_order = "bysource"
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "pydata_sphinx_theme"
html_title = f"clika_pytree {release}"
html_copy_source = False
html_show_sourcelink = False
html_additional_pages = {"index": "index.html"}
templates_path = ["templates"]
html_theme_options = {
    "navbar_center": [],
    "primary_sidebar_end": [],
    "show_prev_next": False,
    "navigation_with_keys": False,
    "footer_start": [],
    "footer_end": [],
}
html_sidebars = {"**": ["contents.html"]}
pygments_style = "default"

# The order of the pages in the site. A checkout has docs/index.md for that.
SECTIONS = {
    "Learning": ["tutorial", "concepts"],
    "How to": [
        *("howto/register", "howto/none_and_dicts", "howto/recompiled", "howto/store"),
        *("howto/processes", "howto/clusters", "pytorch", "from_jax", "from_optree", "sharing", "runtimes"),
    ],
    "Using it": ["rules", "compile", "files", "conversion", "jax", "torch", "mlx", "errors"],
    "Knowing it": ["performance", "design"],
    "Reference": [
        *("reference/trees", "reference/specs", "reference/registration", "reference/paths"),
        *("reference/boundaries", "reference/runtimes", "reference/compat", "reference/errors"),
    ],
    "The project": ["index", "../bench/README", "../CONTRIBUTING", "../CHANGELOG"],
}
NAMES = re.compile(r"^```\{names\} (?P<module>\S+)\n(?P<names>.*?)```", re.M | re.S)
LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<to>[^)#:]+)\)")


def adapt(app: Sphinx, page: str, source: list[str]) -> None:
    """The front page gets the list of all pages. A link to a folder, which the site does not have, becomes its text."""
    here = Path(app.srcdir, page).parent
    source[0] = LINK.sub(lambda link: link["text"] if (here / link["to"]).is_dir() else link[0], source[0])
    source[0] = NAMES.sub(entries, source[0])
    if page == root_doc:
        for caption, pages in SECTIONS.items():
            names = "\n".join(f"/docs/{name}".replace("/docs/../", "/") for name in pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{names}\n```\n"


def entries(block: re.Match[str]) -> str:
    """A block of public names, one in each line, becomes their docstrings in that order."""
    lines: list[str] = []
    for name in block["names"].split():
        value = locate(f"{block['module']}.{name}")
        kind = "function" if callable(value) else "module" if isinstance(value, ModuleType) else "data"
        if isinstance(value, type):
            kind = "exception" if issubclass(value, BaseException) else "class"
        lines += [f".. auto{kind}:: {block['module']}.{name}", "   :members:" if kind == "class" else "", ""]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```"


def setup(app: Sphinx) -> None:
    app.connect("source-read", adapt)
