"""Whether pyright and mypy reveal what the comments of tests/shown_types.py say, which is what editors show."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).parents[1] / "tests" / "shown_types.py"
REVEALED = re.compile(r"^ *reveal_type\(.*\)  # (?P<pyright>.*?)(?:; mypy: (?P<mypy>.*))?$")


def wanted() -> dict[tuple[str, int], str]:
    """What each of the two is to say of a line."""
    found: dict[tuple[str, int], str] = {}
    for number, line in enumerate(FILE.read_text(encoding="utf-8").splitlines(), 1):
        if match := REVEALED.match(line):
            found["pyright", number] = match["pyright"]
            found["mypy", number] = match["mypy"] or match["pyright"]
        elif re.match(r" *reveal_type\(", line):
            sys.exit(f"{FILE}:{number}: there is no comment that says what is revealed")
    return found


def said_by_pyright(tools: Path) -> dict[tuple[str, int], str]:
    command = [tools / "pyright", "--pythonpath", sys.executable, "--outputjson", FILE]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    told = [(said["range"]["start"]["line"] + 1, said["message"]) for said in report["generalDiagnostics"]]
    return {
        ("pyright", line): re.sub(r'^Type of ".*" is "(.*)"$', r"\1", message, flags=re.S) for line, message in told
    }


def said_by_mypy(tools: Path) -> dict[tuple[str, int], str]:
    command = [tools / "mypy", "--output", "json", FILE]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    told = [(said["line"], said["message"]) for said in map(json.loads, lines)]
    named = [(line, re.sub(r'^Revealed type is "(.*)"$', r"\1", message)) for line, message in told]
    return {("mypy", line): re.sub(r"\b(?:\w+\.)+(?=\w)", "", message) for line, message in named}


def main() -> None:
    expected = wanted()
    assert len(expected) > 100, "the comments have another form"
    tools = Path(sys.executable).parent
    said = said_by_pyright(tools) | said_by_mypy(tools)
    wrong = [place for place in sorted({*expected, *said}) if said.get(place) != expected.get(place)]
    for checker, line in wrong:
        place = (checker, line)
        print(f"{FILE}:{line}: {checker} says {said.get(place)!r}, not {expected.get(place)!r}")
    print(f"{len(expected) - len(wrong)} of {len(expected)} revealed types are as shown_types.py says", file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
