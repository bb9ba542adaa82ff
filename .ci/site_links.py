"""Every link within a built site leads to a file, and to an anchor that is there: `site_links.py build/docs`."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and what they may lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value and name in ("href", "src"):
                self.links.add(value)
            elif value and name == "id":
                self.anchors.add(value)


def broken(pages: dict[Path, Page], path: Path) -> list[str]:
    found = []
    for link in sorted(pages[path].links):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        page = pages.get(target)
        if not target.is_file() or (parts.fragment and page and unquote(parts.fragment) not in page.anchors):
            found.append(link)
    return found


def main(folder: Path) -> int:
    pages = {path.resolve(): Page(path) for path in folder.rglob("*.html") if "_static" not in path.parts}
    wrong = [f"{path.relative_to(folder.resolve())}: {link}" for path in sorted(pages) for link in broken(pages, path)]
    print(*wrong, f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links", sep="\n")
    return 1 if wrong or not pages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
