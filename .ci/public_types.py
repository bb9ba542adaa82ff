"""Whether a checker knows every type in the public interface, down to the attributes of what functions return.

pyright's own score counts all modules, those that no user imports, too. Of these, only what a public name leads to has
to be complete here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

PACKAGE = "clika_pytree"
FACES = (PACKAGE, f"{PACKAGE}.pytree", f"{PACKAGE}.typing", f"{PACKAGE}.runtimes.protocol")


def sources(unknown: list[Any], symbols: list[Any]) -> Iterator[tuple[str, str]]:
    """What is not known of public names, then of the members of the classes that they lead to, and so on."""
    waiting, classes = list(unknown), set[str]()
    while waiting:
        symbol = waiting.pop(0)
        messages = [said["message"].replace("\n", " ") for said in symbol["diagnostics"]]
        yield from ((symbol["name"], message) for message in messages)
        new = {name for message in messages for name in re.findall(r"\b[A-Z]\w+", message)} - classes
        classes |= new
        waiting += [other for other in symbols if not other["isTypeKnown"] and other["name"].split(".")[-2:][0] in new]


def main() -> None:
    pyright = Path(sys.executable).with_name("pyright")
    command = [pyright, "--pythonpath", sys.executable, "--verifytypes", PACKAGE, "--ignoreexternal", "--outputjson"]
    # For this question pyright looks for the package where the first Python of the path has it.
    environment = {**os.environ, "PATH": os.pathsep.join([str(pyright.parent), os.environ.get("PATH", "")])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    report = json.loads(done.stdout)
    found = report["typeCompleteness"]
    modules = {module["name"] for module in found["modules"]}
    public = [
        symbol
        for symbol in found["symbols"]
        if symbol["name"].rpartition(".")[0] in FACES and symbol["name"] not in modules
    ]
    assert len(public) > 200, "pyright's report has another form"
    unknown = [symbol for symbol in public if not symbol["isTypeKnown"]]
    # The nearest come first; further on, a class may be another of the same name.
    for name, said in islice(sources(unknown, found["symbols"]), 12):
        print(f"{name}: {said}")
    print(f"{len(public) - len(unknown)} of {len(public)} public names have known types", file=sys.stderr)
    sys.exit(bool(unknown))


if __name__ == "__main__":
    main()
