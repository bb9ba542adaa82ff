"""Count the instructions clika_pytree spends per leaf, and hold them against those that are stored.

    python bench/instructions.py             fails where a figure is more than 3 % above the stored one
    python bench/instructions.py --record    stores the figures of this interpreter in instructions.json

valgrind's callgrind counts each operation n times and 2n times; the difference, divided by n and by the number of
leaves, is free of start-up, and the same whatever else the machine is doing. Interpreters and compilers differ: figures
are stored for each.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from counted import FLOOR, OURS, series
from floor import build_floor
from release import require_release
from report import PAGE, aligned, fill

COUNTED = Path(__file__).with_name("counted.py")
STORED = Path(__file__).with_name("instructions.json")
SLACK = 1.03
# Of flatten, whatever the machine. A limit that the stored figure is above of is shown, and is no failure.
LIMITS = {"list": 70, "dict": 160, "gpt12": 150}

# engine -> shape -> operation -> instructions per leaf; what is stored is of ours
Figures = dict[str, dict[str, float]]
Engines = dict[str, Figures]


def dumps(folder: Path) -> list[int]:
    """The counts that callgrind wrote, one for each call of getppid and one for the rest."""
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'counts'}", "--dump-before=getppid"]
    # A fixed seed for str hashes: dicts collide in the same way in every process.
    env = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run([*valgrind, sys.executable, str(COUNTED)], capture_output=True, text=True, env=env)
    if done.returncode or done.stdout != "counted\n":
        sys.exit(f"valgrind failed:\n{done.stderr}")
    parts = sorted(folder.glob("counts.*"), key=lambda path: int(path.suffix[1:]))
    totals = [re.search(r"^(?:summary|totals): (\d+)", path.read_text(), re.MULTILINE) for path in parts]
    return [int(total[1]) for total in totals if total]


def per_leaf(counts: list[int]) -> Engines:
    """The first count is the start; then a series and what lies between two of them take turns."""
    figures: Engines = {}
    every = list(series())
    if len(counts) != 2 * len(every):
        sys.exit(f"callgrind wrote {len(counts)} counts for {len(every)} series: is getppid called elsewhere?")
    of_series = counts[1::2]
    for i in range(0, len(every), 2):
        engine, shape, operation, leaves, runs, _ = every[i]
        difference = of_series[i + 1] - of_series[i]
        figures.setdefault(engine, {}).setdefault(shape, {})[operation] = round(difference / runs / leaves, 2)
    return figures


def interpreter() -> str:
    """What the figures depend on besides the code."""
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.split()[1]
    build = f"{platform.python_implementation()} {platform.python_version()}, {platform.python_compiler()}"
    return f"{build}, rustc {rustc}, {platform.machine()}"


def compared(engines: Engines, stored: Figures) -> Iterator[tuple[str, bool]]:
    """A line for each figure, and whether it is too high."""
    floors = engines.get(FLOOR, {})
    for shape, row in engines[OURS].items():
        for operation, figure in row.items():
            before = stored.get(shape, {}).get(operation)
            limit = LIMITS.get(shape) if operation == "flatten" else None
            words = []
            failed = False
            if before is not None and figure > before * SLACK:
                words.append(f"{figure / before - 1:+.1%} above the stored {before:.1f}: at most 3 % is allowed")
                failed = True
            elif before is not None and figure < before / SLACK:
                words.append(f"{figure / before - 1:+.1%} from the stored {before:.1f}: store it with --record")
            if limit is not None:
                over = figure > limit
                words.append(f"{'SHORT of' if over else 'within'} the limit of {limit}")
                failed = failed or (over and before is not None and before <= limit)
            floor = floors.get(shape, {}).get(operation)
            beside = "-" if floor is None else f"{floor:.1f}"
            yield f"{shape:<14}{operation:<15}{figure:>9.1f}{beside:>9}  {'; '.join(words)}".rstrip(), failed


def table(engines: Engines) -> str:
    """For docs/performance.md: ours, and behind the stroke the floor's."""
    shapes = list(engines[OURS])
    lines = [["operation", *shapes]]
    for operation in engines[OURS][shapes[0]]:
        cells = []
        for shape in shapes:
            floor = engines.get(FLOOR, {}).get(shape, {}).get(operation)
            beside = "" if floor is None else f" / {floor:.0f}"
            cells.append(f"{engines[OURS][shape][operation]:.0f}{beside}")
        lines.append([f"`{operation}`", *cells])
    return aligned(lines, names=1)


def store(figures: Figures, name: str) -> None:
    known = json.loads(STORED.read_text()) if STORED.exists() else {}
    known[name] = figures
    STORED.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Count instructions per leaf under valgrind.")
    parser.add_argument("--record", action="store_true", help="store the figures of this interpreter")
    parser.add_argument("--docs", action="store_true", help="write them into docs/performance.md")
    options = parser.parse_args()
    require_release()
    if not shutil.which("valgrind"):
        message = "valgrind is missing: no instructions are counted. On Debian and Ubuntu: apt install valgrind"
        sys.exit(message) if options.record or options.docs else print(message)
        return
    build_floor()
    with tempfile.TemporaryDirectory() as folder:
        figures = per_leaf(dumps(Path(folder)))
    name = interpreter()
    if options.record:
        store(figures[OURS], name)
    if options.docs:
        fill(PAGE, "instructions", f"{name}.\n\n{table(figures)}")
    known = json.loads(STORED.read_text()) if STORED.exists() else {}
    print(f"Instructions per leaf, {name}\n\n{'tree':<14}{'operation':<15}{'ours':>9}{'floor':>9}")
    lines = list(compared(figures, known.get(name, {})))
    print("\n".join(line for line, _ in lines))
    if name not in known:
        print('\nNo figures are stored for this interpreter: make bench-instructions ARGS="--record" stores them.')
    if any(failed for _, failed in lines):
        sys.exit("\nMore instructions than are allowed.")


if __name__ == "__main__":
    main()
