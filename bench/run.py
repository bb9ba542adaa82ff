"""Measure, and write the tables and the plot: what `make bench` runs.

    python bench/run.py                        everything, some ten minutes
    python bench/run.py --quick --trees gpt12 --operations flatten,map
    python bench/run.py --quick --operations save,save_synced,load --gibibyte
    python bench/run.py --docs                 and put table and plot into docs/performance.md, some rows into README.md

pytest-benchmark measures, in several rounds from the first row to the last: the best of them counts, so a slow minute
of the machine does not decide a row. Further options are those of conftest.py and of pytest.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from figures import best, growth, in_question, load_asked, rows
from release import require_release
from report import PAGE, README, fill, linear, machine, short_table, tables, verdict

BENCH = Path(__file__).parent
PLOT = "growth.png"


def measure(programs: list[str], into: Path, options: list[str]) -> dict:
    """One run of pytest-benchmark; a wrong result ends it."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        "pytest.ini",
        *programs,
        "--benchmark-json",
        str(into.resolve()),
    ]
    # Its own table, of hundreds of lines, would hide ours. The folder of the package is not put on the path.
    # numpy multiplies matrices on one thread, so that what else it does is seen beside it.
    env = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **os.environ}
    done = subprocess.run([*command, *options], cwd=BENCH, env=env, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\nThe benchmarks failed.")
    return json.loads(into.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure clika_pytree beside other engines.")
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured (3)")
    parser.add_argument("--quick", action="store_true", help="one round, no growing trees")
    parser.add_argument(
        "--docs", action="store_true", help="write table and plot into docs/performance.md, a few rows into README.md"
    )
    parser.add_argument("--most-leaves", type=int, default=10**7, help="how far the growing tree grows (10 million)")
    parser.add_argument("--engines", help="which engines, by comma")
    parser.add_argument("--into", type=Path, default=BENCH / "report", help="the folder to write (bench/report)")
    options, further = parser.parse_known_args()
    require_release()
    options.into.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    engines = [f"--engines={options.engines}"] if options.engines else []
    reports = []
    for i in range(1 if options.quick else options.rounds):
        print(f"Operations, round {i + 1}", file=sys.stderr)
        programs = ["bench_operations.py", "bench_compiled.py", "bench_files.py"]
        reports.append(measure(programs, options.into / f"operations-{i + 1}.json", [*engines, *further]))
    asked = load_asked()
    every = rows(best(reports), asked)
    of_question = in_question(every, asked)
    text = f"{machine(reports[0], load)}\n{tables(of_question)}\n{verdict(of_question, asked)}"
    straight = True
    if not options.quick:
        print("Growing trees", file=sys.stderr)
        limit = f"--most-leaves={options.most_leaves}"
        curves = growth([measure(["bench_growth.py"], options.into / "growth.json", [*engines, limit])])
        words, straight = linear(curves)
        text += f"\nGrowth:\n\n{words}"
        from plot import plot

        plot(curves, options.into / PLOT)
    (options.into / "table.md").write_text(text)
    (options.into / "all.md").write_text(tables(every))
    print(f"{text}\nWritten to {options.into}; all.md there has every row.")
    if options.docs:
        fill(PAGE, "times", text)
        fill(README, "times", short_table(text))
        if not options.quick:
            shutil.copy(options.into / PLOT, PAGE.with_name(PLOT))
    if not straight:
        sys.exit("A time does not grow linearly with the number of leaves.")


if __name__ == "__main__":
    main()
