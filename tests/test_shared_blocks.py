"""One object of a block used by several threads and tasks at a time, and again after it was left."""

from __future__ import annotations

import asyncio
import threading

import pytest
from test_dict_order import INSERTION, SORTED, read

import clika_pytree as cp


@pytest.mark.parametrize("first_out", [0, 1])
def test_one_block_object_shared_by_two_threads_that_overlap(first_out):
    shared = cp.dict_insertion_ordered(False)
    inside = [threading.Event(), threading.Event()]
    left = threading.Event()
    seen: dict[str, list] = {}

    def body(own: int) -> None:
        if own == 1:
            inside[0].wait(10)
        with shared:
            inside[own].set()
            inside[1 - own].wait(10)
            if own != first_out:
                left.wait(10)
            seen[f"{own} inside"] = read()
            with shared:
                seen[f"{own} twice inside"] = read()
            seen[f"{own} inside again"] = read()
        seen[f"{own} after"] = read()
        if own == first_out:
            left.set()

    threads = [threading.Thread(target=body, args=(own,)) for own in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for own in range(2):
        for when, expected in [("inside", SORTED), ("twice inside", SORTED), ("inside again", SORTED)]:
            assert seen[f"{own} {when}"] == expected
        assert seen[f"{own} after"] == INSERTION
    assert read() == INSERTION


@pytest.mark.parametrize("first_out", [0, 1])
def test_one_block_object_shared_by_two_tasks_that_overlap(first_out):
    shared = cp.dict_insertion_ordered(False)

    async def task(own: int, inside: list[asyncio.Event], left: asyncio.Event) -> list:
        with shared:
            inside[own].set()
            await inside[1 - own].wait()
            if own != first_out:
                await left.wait()
            within = read()
            with shared:
                await asyncio.sleep(0)
                twice = read()
            again = read()
        left.set()
        await asyncio.sleep(0)
        return [within, twice, again, read()]

    async def main() -> list:
        inside, left = [asyncio.Event(), asyncio.Event()], asyncio.Event()
        return await asyncio.gather(task(0, inside, left), task(1, inside, left))

    assert asyncio.run(main()) == [[SORTED, SORTED, SORTED, INSERTION]] * 2
    assert read() == INSERTION


def test_a_block_object_is_used_again_after_it_was_left():
    shared = cp.dict_insertion_ordered(False)
    for _ in range(3):
        with shared:
            assert read() == SORTED
            with cp.dict_insertion_ordered(True):
                assert read() == INSERTION
                with shared:
                    assert read() == SORTED
                assert read() == INSERTION
            assert read() == SORTED
        assert read() == INSERTION
