"""Texts guided by what they reach in the code of the loaders, with atheris: `make fuzz-guided`.

    python tests/run_fuzz_guided.py json build/fuzz -max_total_time=600

The second argument is a folder: inputs that reach something new are kept there, and the next run starts from them. What
follows is for libFuzzer. A text that fails a check is printed and written to a file `crash-...` beside them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["clika_pytree"]):
    from clika_pytree import key_paths, plain_values, serialization, spec_builder, spec_json, torch_json  # noqa: F401

from fuzz.loaders import check_json, check_path, our_text, path_text, torch_text
from fuzz.plans import Drawer

CHECKS = {"json": (check_json, our_text), "torch": (check_json, torch_text), "paths": (check_path, path_text)}
SEEDS = 200


def main() -> None:
    _, target, folder, *options = sys.argv
    check, draw = CHECKS[target]
    corpus = Path(folder) / target
    corpus.mkdir(parents=True, exist_ok=True)
    for number in range(SEEDS):
        (corpus / f"seed-{number}").write_text(draw(Drawer(target, number)), errors="replace")
    arguments = ["-max_len=4096", f"-artifact_prefix={corpus}-", "-timeout=30", "-rss_limit_mb=4096", *options]

    def one(data: bytes) -> None:
        check(data.decode(errors="replace"))

    atheris.Setup([sys.argv[0], str(corpus), *arguments], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
