"""What is fuzzed: each target draws one input, tries it, and says in a word or some what became of it.

A target raises where something is wrong. Inputs are drawn from their number alone, so a number is all there is to keep.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

from helpers import reading

from fuzz.against_peers import Peer, compare, installed
from fuzz.against_reference import Case
from fuzz.algebra import algebra
from fuzz.loaders import key_paths, our_json, pickles, states, torch_json
from fuzz.plans import Drawer
from fuzz.tensor_file import tensor_files


@functools.cache
def peers() -> list[Peer]:
    return installed()


def trees(drawer: Drawer) -> list[str]:
    """Random trees: ours, the reference, and the peers that are installed."""
    case = Case(drawer)
    words = ["compared with the reference"]
    try:
        case.check()
        for peer in peers():
            if peer.reads(case):
                words.append(f"compared with {peer.name}")
                with reading(case.mode):
                    words += [f"{found.peer}: {found.reason}" for found in compare(peer, case)]
    except Exception as error:
        raise AssertionError(f"in the case\n{case!r}") from error
    return words


TARGETS: dict[str, Callable[[Drawer], Iterable[str]]] = {
    "json": our_json,
    "torch": torch_json,
    "states": states,
    "pickles": pickles,
    "paths": key_paths,
    "algebra": algebra,
    "files": tensor_files,
    "trees": trees,
}
