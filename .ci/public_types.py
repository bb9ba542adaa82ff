"""Whether a checker knows every type in the public interface, down to the attributes of what functions return.

pyright's own score counts all modules, those that no user imports, too. Of these, only what a public name leads to has
to be complete here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PACKAGE = "clika_pytree"
FACES = (PACKAGE, f"{PACKAGE}.pytree", f"{PACKAGE}.typing", f"{PACKAGE}.runtimes.protocol")


def main() -> None:
    pyright = Path(sys.executable).with_name("pyright")
    command = [pyright, "--pythonpath", sys.executable, "--verifytypes", PACKAGE, "--ignoreexternal", "--outputjson"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    found = report["typeCompleteness"]
    modules = {module["name"] for module in found["modules"]}
    public = [
        symbol
        for symbol in found["symbols"]
        if symbol["name"].rpartition(".")[0] in FACES and symbol["name"] not in modules
    ]
    assert len(public) > 200, "pyright's report has another form"
    unknown = [symbol for symbol in public if not symbol["isTypeKnown"]]
    for symbol in unknown:
        for said in symbol["diagnostics"]:
            print(symbol["name"], said["message"].replace("\n", " "), sep=": ")
    if unknown:
        print("What has no annotation, there or in the classes that it leads to:")
        for symbol in found["symbols"]:
            for said in symbol["diagnostics"]:
                if not symbol["isTypeKnown"] and "missing type annotation" in said["message"]:
                    print(f"  {symbol['name']}")
    print(f"{len(public) - len(unknown)} of {len(public)} public names have known types", file=sys.stderr)
    sys.exit(bool(unknown))


if __name__ == "__main__":
    main()
