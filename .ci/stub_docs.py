"""Whether the stub of the native module has the docstrings of what users see; `stub_docs.py --write` puts them there.

Editors read stubs alone, and so they show nothing of a function whose docstring is in the native module only.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clika_pytree
from clika_pytree import _native

STUB = Path(__file__).parents[1] / "clika_pytree" / "_native.pyi"


def documented(module: ast.Module) -> Iterator[tuple[Any, str]]:
    """Each definition that has a docstring to show: of overloads, the first one."""
    public = {*clika_pytree.__all__, *clika_pytree.BOUNDARIES}
    seen: set[Any] = set()
    for node in module.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name not in public or node.name in seen:
            continue
        seen.add(node.name)
        found = getattr(_native, node.name)
        if found.__doc__:
            yield node, found.__doc__
        for member in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                name = (node.name, member.name)
                doc = getattr(found, member.name).__doc__
                if doc and name not in seen:
                    seen.add(name)
                    yield member, doc


def rewritten(text: str) -> str:
    lines = text.splitlines(keepends=True)
    for node, doc in sorted(documented(ast.parse(text)), key=lambda found: -found[0].lineno):
        first = node.body[0]
        indent = " " * (node.col_offset + 4)
        quotes = 'r"""' if "\\" in doc else '"""'
        told = "\n".join(f"{indent}{line}".rstrip() for line in inspect.cleandoc(doc).splitlines())
        docstring = f'{indent}{quotes}{told.strip()}"""\n'
        if "\n" in told:
            docstring = f'{indent}{quotes}{told.strip()}\n{indent}"""\n'
        is_value = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        if is_value and isinstance(first.value.value, str):
            lines[first.lineno - 1 : first.end_lineno] = [docstring]
        elif is_value:  # `...`
            line = lines[first.lineno - 1]
            lines[first.lineno - 1 : first.end_lineno] = [f"{line[: first.col_offset].rstrip()}\n", docstring]
        else:
            start = min([first.lineno, *(decorator.lineno for decorator in getattr(first, "decorator_list", []))])
            lines[start - 1 : start - 1] = [docstring, "\n"]
    return "".join(lines)


def main() -> None:
    text = STUB.read_text(encoding="utf-8")
    wanted = rewritten(text)
    if "--write" in sys.argv:
        STUB.write_text(wanted, encoding="utf-8")
    elif wanted != text:
        sys.exit(f"{STUB.name} has other docstrings than the native module: .venv/bin/python .ci/stub_docs.py --write")


if __name__ == "__main__":
    main()
