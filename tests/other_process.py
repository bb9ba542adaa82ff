"""Another Python, which gets specs and sends back what it finds in them. Run, this file is that Python."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import clika_pytree as cp


class OtherProcess:
    """Another process with a hash seed of its own."""

    def __init__(self, hash_seed: str) -> None:
        folder = Path(__file__).parent
        environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONHASHSEED": hash_seed}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", __file__],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, question: Any) -> Any:
        pickle.dump(question, self.process.stdin)
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)

    def end(self) -> None:
        self.process.communicate(timeout=30)
        assert self.process.returncode == 0


def findings(pickled: bytes, text: str | None, mode: Any) -> dict[str, Any]:
    """What this process finds in a spec: whether it is that of the tree it rebuilds, and all it says of itself."""
    from helpers import structure

    spec = pickle.loads(pickled)
    again = structure(spec.unflatten(range(spec.num_leaves)), mode)
    return {
        "is the structure of its tree": again == spec and hash(again) == hash(spec),
        "is the spec of the text": text is None or cp.treespec_loads(text, mode.namespace) == spec,
        "letters": sorted(repr(spec)),  # sets print in the order of their hashes
        "fingerprint": attempted(spec.fingerprint),
        "text": attempted(lambda: cp.treespec_dumps(spec)),
        "pickle": pickle.dumps(spec),
        "key paths": spec.key_paths(),
    }


def attempted(call: Any) -> Any:
    """What a call gives; None where what is asked for can't be had."""
    try:
        return call()
    except cp.PyTreeValueError:
        return None


def main() -> None:
    import classes  # noqa: F401  (registers the classes)

    while True:
        try:
            question = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        sys.stdout.buffer.write(pickle.dumps(findings(*question)))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
