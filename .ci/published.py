"""Give README and pyproject.toml the address of the repository: `published.py https://host/owner/name REVISION`.

The links of README lead to files beside it, which a page of PyPI does not have. No address is written down here: the
workflow that publishes knows the one it runs at, and does this to its own checkout before it builds.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


def with_address(text: str, address: str, revision: str) -> str:
    """README with links to the files of a revision; what is between fences is no link."""

    def linked(found: re.Match[str]) -> str:
        image, label, target = found.groups()
        return f"{image}[{label}]({address}/{'raw' if image else 'blob'}/{revision}/{target})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else LINK.sub(linked, part) for part in parts)


def with_urls(settings: str, address: str, revision: str) -> str:
    """pyproject.toml with the addresses that PyPI lists beside the page."""
    urls = {
        "Repository": address,
        "Documentation": f"{address}/blob/{revision}/docs/index.md",
        "Changelog": f"{address}/blob/{revision}/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }
    lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    return settings.replace(
        "[project.optional-dependencies]\n", f"[project.urls]\n{lines}\n[project.optional-dependencies]\n", 1
    )


def main() -> None:
    address, revision = sys.argv[1:]
    for name, change in (("README.md", with_address), ("pyproject.toml", with_urls)):
        text = (ROOT / name).read_text(encoding="utf-8")
        (ROOT / name).write_text(change(text, address, revision), encoding="utf-8")


if __name__ == "__main__":
    main()
