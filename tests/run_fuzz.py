"""Fuzz in child processes: `make fuzz`, `make differential`.

    python tests/run_fuzz.py --seconds 180
    python tests/run_fuzz.py trees --count 1000000 --jobs 2
    python tests/run_fuzz.py states --only 4711

A child that crashes, hangs or takes too much memory names the number of its input, like one whose checks fail; `--only`
runs that input again in this very process.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import json
import mmap
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from fuzz.plans import Drawer
from fuzz.targets import TARGETS

MOST_FAILURES = 10
SLOWDOWN = float(os.environ.get("TEST_SLOWDOWN", "1"))  # set where a sanitizer watches, which takes more memory, too
MOST_WORK = 5.0 * SLOWDOWN  # seconds of work for one input, not of waiting: the machine may be busy
LONGEST_INPUT = 1800.0  # seconds after which a child that does no work is taken to hang; it may have been stopped
MEMORY = 4 << 30
# A child makes room for another after so many inputs. Where JAX 0.10.2 refuses a tree, it gives back nothing of the
# recursion depth that it took, one level for every container around the place.
MOST_INPUTS = 40_000
TRIED = "tried"


# --- the child --------------------------------------------------------------------------------------------------------


def child(target: str, first: int, step: int, end: int, seconds: float, status: str) -> None:
    """Try the inputs first, first + step, ..., and print every other second what became of them."""
    if SLOWDOWN == 1:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.register(signal.SIGPROF, chain=True)  # says where it was, and ends it
    with contextlib.suppress(Exception):
        TARGETS[target](Drawer(target, first))  # what it imports is neither timed nor looked through again and again
    gc.freeze()
    tally: Counter[str] = Counter()
    failures = 0
    started = reported = time.monotonic()
    with open(status, "r+b") as file, mmap.mmap(file.fileno(), 0) as shown:
        for number in range(first, end, step):
            now = time.monotonic()
            if now - reported > 2:
                print(json.dumps(tally), flush=True)
                reported = now
                tally.clear()
            if now - started > seconds or failures == MOST_FAILURES:
                break
            shown[:8] = struct.pack("<q", number)
            signal.setitimer(signal.ITIMER_PROF, MOST_WORK)
            try:
                tally.update(TARGETS[target](Drawer(target, number)))
            except Exception:
                print(json.dumps([number, traceback.format_exc()]), flush=True)
                failures += 1
            tally[TRIED] += 1
        signal.setitimer(signal.ITIMER_PROF, 0)
    print(json.dumps(tally))


# --- the parent -------------------------------------------------------------------------------------------------------


class Job:
    """A child, started anew after an input that killed it."""

    def __init__(self, target: str, first: int, step: int, end: int, seconds: float) -> None:
        self.target, self.step, self.end = target, step, end
        self.failures: list[tuple[int, str]] = []
        self.tally: Counter[str] = Counter()
        self.started, self.seconds = time.monotonic(), seconds
        self.start(first)

    def start(self, first: int) -> None:
        self.number, self.since = first, time.monotonic()
        self.next = min(self.end, first + MOST_INPUTS * self.step)
        self.output, self.errors, self.status = (tempfile.NamedTemporaryFile() for _ in range(3))  # noqa: SIM115
        self.status.write(struct.pack("<q", first))
        self.status.flush()
        left = self.started + self.seconds - time.monotonic()
        arguments = [self.target, str(first), str(self.step), str(self.next), str(left), self.status.name]
        command = [sys.executable, "-X", "faulthandler", __file__, "--child", *arguments]
        self.process = subprocess.Popen(command, stdout=self.output, stderr=self.errors)

    def is_done(self) -> bool:
        """Look after the child. Where it died, the next one goes on behind the input that killed it."""
        (number,) = struct.unpack("<q", Path(self.status.name).read_bytes())
        if self.process.poll() is None:
            if number != self.number:
                self.number, self.since = number, time.monotonic()
            if time.monotonic() - self.since < LONGEST_INPUT:
                return False
            self.process.send_signal(signal.SIGABRT)  # on which faulthandler says where it was
            self.process.wait()
        self.take_up()
        if self.process.returncode == 0:
            if self.next < self.end and not self.is_over():
                self.start(self.next)
                return False
            self.seconds = time.monotonic() - self.started
            return True
        code = self.process.returncode
        ended = signal.Signals(-code).name if code < 0 else str(code)
        errors = Path(self.errors.name).read_text(errors="replace")
        reasons = {
            "SIGPROF": f"more than {MOST_WORK} seconds of work",
            "SIGABRT": f"nothing in {LONGEST_INPUT} seconds",
        }
        self.failures.append((number, f"the process ended with {ended}: {reasons.get(ended, '')}\n{errors}"))
        if self.is_over():
            return True
        self.start(number + self.step)
        return False

    def is_over(self) -> bool:
        return len(self.failures) >= MOST_FAILURES or time.monotonic() > self.started + self.seconds

    def take_up(self) -> None:
        """What the child printed: tallies, and failures with their numbers."""
        for line in Path(self.output.name).read_text().splitlines():
            item = json.loads(line)
            if isinstance(item, dict):
                self.tally.update(item)
            else:
                self.failures.append((item[0], item[1]))


def run(targets: list[str], seconds: float, first: int, count: int, jobs: int) -> list[Job]:
    """Each target in as many children, a share of the time each."""
    done: list[Job] = []
    for target in targets:
        share = seconds / len(targets)
        running = [Job(target, first + job, jobs, first + count, share) for job in range(jobs)]
        done += running
        while running:
            time.sleep(0.1)
            running = [job for job in running if not job.is_done()]
    return done


def report(jobs: list[Job]) -> bool:
    for target in dict.fromkeys(job.target for job in jobs):
        own = [job for job in jobs if job.target == target]
        tally: Counter[str] = sum((job.tally for job in own), Counter())
        tried, seconds = tally.pop(TRIED, 0), max(job.seconds for job in own)
        print(f"{target}: {tried:,} inputs in {seconds:,.0f} s, {tried / seconds if seconds else 0:,.0f} a second")
        for word, count in tally.most_common():
            print(f"  {count:>11,}  {word}")
        for number, text in sorted(failure for job in own for failure in job.failures):
            print(f"\nINPUT {number} of {target} (again: tests/run_fuzz.py {target} --only {number})\n{text}")
    return not any(job.failures for job in jobs)


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        target, first, step, end, seconds, status = sys.argv[2:]
        child(target, int(first), int(step), int(end), float(seconds), status)
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="target", help=f"of {', '.join(TARGETS)}; by default all")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for all targets together")
    parser.add_argument("--count", type=int, default=10**12, help="inputs for each target")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--jobs", type=int, default=1, help="children at a time")
    parser.add_argument("--only", type=int, help="run this one input here")
    options = parser.parse_args()
    targets = options.targets or list(TARGETS)
    if unknown := set(targets) - set(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    if options.only is not None:
        for target in targets:
            print(target, *TARGETS[target](Drawer(target, options.only)), sep="\n")
        return 0
    if options.seconds == float("inf") and options.count == 10**12:
        parser.error("say how long: --seconds or --count")
    return 0 if report(run(targets, options.seconds, options.first, options.count, options.jobs)) else 1


if __name__ == "__main__":
    sys.exit(main())
