"""Run the examples of a Markdown file: `python documents.py README.md` prints, for each, the line and what it printed.

An example is a block of ```python. It prints what the block of ```text after it says, or nothing where there is none.
The examples of a file are one program: later ones go on with the names of earlier ones. Where one raises, what Python
prints below a traceback counts as its output, and the next one goes on.
"""

import contextlib
import io
import json
import re
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

OTHER_LIBRARIES = ("distributed", "jax", "mlx", "optree", "ray", "torch")
EXAMPLE = re.compile(r"^```python\n(?P<source>.*?)^```\n(?:\n*```text\n(?P<output>.*?)^```\n)?", re.M | re.S)


class Example(NamedTuple):
    line: int
    source: str
    output: str


def examples(document: Path) -> list[Example]:
    text = document.read_text(encoding="utf-8")
    return [
        Example(text.count("\n", 0, match.start()) + 2, match["source"], match["output"] or "")
        for match in EXAMPLE.finditer(text)
    ]


def anchors(document: Path) -> set[str]:
    """What links may name in a document: its headings, as GitHub writes them."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = [heading.strip().lower() for heading in re.findall(r"^#+ (.*)$", text, re.M)]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}


def referred(document: Path) -> list[str]:
    """The public names of which a page of the reference has the docstrings: blocks of ```{names} and a module."""
    blocks = re.findall(r"^```\{names\} (\S+)\n(.*?)^```", document.read_text(encoding="utf-8"), re.M | re.S)
    return [f"{module}.{name}" for module, names in blocks for name in names.split()]


def needed(sources: Iterable[str]) -> list[str]:
    """The other libraries that these sources use: where one is not installed, they have to be left out."""
    text = "\n".join(sources)
    return [name for name in OTHER_LIBRARIES if re.search(rf"^(?:import|from) {name}\b|\w_{name}\(", text, re.M)]


def run(example: Example, document: Path) -> str:
    """What the example prints, in the namespace of the main program, as a user's script would have it."""
    printed = io.StringIO()
    # Empty lines before the source make the lines of a traceback those of the document.
    code = compile("\n" * (example.line - 1) + example.source, str(document), "exec")
    with contextlib.redirect_stdout(printed):
        try:
            exec(code, sys.modules["__main__"].__dict__)
        except Exception as error:
            print("".join(traceback.format_exception_only(error)), end="")
    return printed.getvalue()


if __name__ == "__main__":
    document = Path(sys.argv[1])
    print(json.dumps([[example.line, run(example, document)] for example in examples(document)]))
