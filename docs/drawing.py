"""Draws docs/design.svg, the rooms of the Rust core, from its source: `python docs/drawing.py` writes it anew.

What a room is for is said in rust/src/lib.rs; which rooms it uses, by the `crate::` in its files. An arrow that follows
from others is left out. A test holds the drawing against the source.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "rust" / "src"
DRAWING = ROOT / "docs" / "design.svg"
LEFT_OUT = {"faults"}  # in builds for sanitizers alone
WIDTH, ROW, BOX, GAP = 900, 92, 58, 16
TITLE = "Rooms of the Rust core: each uses those its arrows lead to, and what those use"


def purposes() -> dict[str, str]:
    """The rooms from the ground up, each with what `lib.rs` says of it."""
    text = (SOURCE / "lib.rs").read_text(encoding="utf-8")
    found = re.findall(r"^//! - \[?`(\w+)`\]?: (.*?)[.]$", text, re.M)
    return {name: purpose.replace("`", "") for name, purpose in found if name not in LEFT_OUT}


def uses(rooms: dict[str, str]) -> dict[str, set[str]]:
    """The rooms that each one names in its files."""
    found = {}
    for room in rooms:
        files = [SOURCE / f"{room}.rs", *SOURCE.joinpath(room).rglob("*.rs")]
        text = "".join(path.read_text(encoding="utf-8") for path in files if path.exists())
        found[room] = (set(re.findall(r"\bcrate::(\w+)", text)) & set(rooms)) - {room}
    return found


def reach(room: str, edges: dict[str, set[str]]) -> set[str]:
    """Everything that a room uses, by whatever way."""
    found: set[str] = set()
    waiting = [room]
    while waiting:
        new = edges[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def arrows(edges: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The uses that do not follow from others."""
    return [
        (room, used)
        for room, direct in edges.items()
        for used in sorted(direct)
        if not any(used in reach(other, edges) for other in direct - {used})
    ]


def heights(rooms: dict[str, str], edges: dict[str, set[str]]) -> dict[str, int]:
    """On which row each room stands: above all that it uses; one that uses none right below those that use it."""
    rows: dict[str, int] = {}
    for room in rooms:  # from the ground up
        rows[room] = max((rows[used] + 1 for used in edges[room]), default=0)
    grounds = [room for room in rooms if not edges[room]]
    return rows | {room: min(rows[user] for user in rooms if room in edges[user]) - 1 for room in grounds}


def places(rooms: dict[str, str], rows: dict[str, int]) -> dict[str, tuple[float, float, float]]:
    """Left edge, top and width of the box of each room."""
    top = max(rows.values())
    found = {}
    for row in range(top + 1):
        here = [room for room in rooms if rows[room] == row]
        width = (WIDTH - GAP * (len(here) + 1)) / len(here)
        for number, room in enumerate(here):
            found[room] = (GAP + number * (width + GAP), 10.0 + (top - row) * ROW, width)
    return found


def wrapped(text: str, width: float) -> list[str]:
    """At most two lines of text."""
    words, lines = text.split(), [""]
    for word in words:
        if lines[-1] and len(f"{lines[-1]} {word}") * 6.1 > width - 16:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def drawing() -> str:
    rooms = purposes()
    edges = uses(rooms)
    rows = heights(rooms, edges)
    at = places(rooms, rows)
    height = int(max(top for _, top, _ in at.values()) + BOX + 24)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{TITLE}">',
        f"<title>{TITLE}</title>",
        '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">',
        '<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    for room, used in arrows(edges):
        (left, top, width), (to_left, to_top, to_width) = at[room], at[used]
        x = min(max(left + width / 2, to_left + 20), to_left + to_width - 20)
        start = min(max(x, left + 20), left + width - 20)
        parts.append(
            f'<line x1="{start:.0f}" y1="{top + BOX:.0f}" x2="{x:.0f}" y2="{to_top:.0f}" stroke="#555" '
            'stroke-width="1.3" marker-end="url(#head)"/>'
        )
    for room, (left, top, width) in at.items():
        parts.append(
            f'<rect x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{BOX}" rx="6" fill="#eef3fa" '
            'stroke="#4a6fa5"/>'
        )
        style = 'font-family="sans-serif" text-anchor="middle" fill="#123"'
        middle = left + width / 2
        parts.append(
            f'<text x="{middle:.0f}" y="{top + 19:.0f}" {style} font-size="14" font-weight="bold">{room}</text>'
        )
        for number, line in enumerate(wrapped(rooms[room], width)):
            parts.append(
                f'<text x="{middle:.0f}" y="{top + 35 + 14 * number:.0f}" {style} font-size="11">{escape(line)}</text>'
            )
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    DRAWING.write_text(drawing(), encoding="utf-8")
