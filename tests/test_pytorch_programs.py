"""Programs written for `torch.utils._pytree` give here what is written down for them."""

from __future__ import annotations

from collections import Counter

import pytest
from pytorch_programs import Program, all_programs
from registering import clean_registry  # noqa: F401

from clika_pytree import pytree


@pytest.mark.parametrize("program", all_programs(), ids=str)
def test_a_program_gives_what_is_written_down(program: Program) -> None:
    result = program.run(pytree)
    assert (result, repr(result)) == (program.here, repr(program.here))


def test_every_program_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(map(str, all_programs())).items() if count > 1] == []
