"""Tables for notebooks: plain HTML, which takes its colors and fonts from the page it is on."""

from __future__ import annotations

from .columns import one_line
from .typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__: list[str] = []


def table_of(
    names: Sequence[str], rows: Iterable[Sequence[str]], *, to_the_right: Collection[str], broken: Collection[str]
) -> str:
    """A table of columns of these names; texts in those that are broken go on below where there is no more room."""
    from html import escape

    styles = [
        f"text-align:{'right' if name in to_the_right else 'left'};"
        f"{'overflow-wrap:anywhere' if name in broken else 'white-space:nowrap'}"
        for name in names
    ]

    def line(texts: Sequence[str], tag: str) -> str:
        cells = (
            f'<{tag} style="{style}">{escape(one_line(text))}</{tag}>'
            for text, style in zip(texts, styles, strict=False)
        )
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(names, 'th')}</thead><tbody>{body}</tbody></table>"


def paragraph(lines: Iterable[str]) -> str:
    from html import escape

    return f"<p>{'<br>'.join(escape(one_line(line)) for line in lines)}</p>"
