"""Count the instructions clika_pytree spends per leaf, under valgrind's callgrind.

    python bench/instructions.py
    python bench/instructions.py --only flatten --shapes dict

Each operation runs n times in one process and 2n times in another; the difference, divided by n and by the number of
leaves, is free of start-up, and the same whatever else the machine is doing. Compare figures of one interpreter only.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from release import require_release
from repeat import LEAVES, SHAPES, operations

RUNS = 20
REPEAT = Path(__file__).with_name("repeat.py")


def count(operation: str, shape: str, runs: int) -> int:
    """The instructions of a whole process that runs the operation `runs` times."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    script = [sys.executable, str(REPEAT), operation, shape, str(runs)]
    # A fixed seed for str hashes: dicts collide in the same way in every process.
    env = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run([*valgrind, *script], capture_output=True, text=True, env=env)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        sys.exit(f"valgrind failed:\n{done.stderr}")
    return int(found[1])


def per_leaf(operation: str, shape: str) -> float:
    difference = count(operation, shape, 2 * RUNS) - count(operation, shape, RUNS)
    return difference / RUNS / LEAVES


def main() -> None:
    names = list(operations(()))
    parser = argparse.ArgumentParser(description="Count instructions per leaf under valgrind.")
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="which operations")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), help="which shapes")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args()
    require_release()
    if not shutil.which("valgrind"):
        sys.exit("valgrind is missing: it counts the instructions. On Debian and Ubuntu: apt install valgrind")
    print("Instructions per leaf\n")
    print(f"{'operation':<15}" + "".join(f"{shape:>10}" for shape in options.shapes))
    figures = {}
    for operation in options.only:
        figures[operation] = {shape: per_leaf(operation, shape) for shape in options.shapes}
        print(f"{operation:<15}" + "".join(f"{figure:>10.1f}" for figure in figures[operation].values()), flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
