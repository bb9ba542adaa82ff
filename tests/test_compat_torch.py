"""`clika_pytree.compat.torch` gives what PyTorch gives, for the programs that are written for both."""

from __future__ import annotations

from typing import Any

import pytest
from helpers import run_python
from pytorch_programs import Program, all_programs
from registering import clean_registry  # noqa: F401

from clika_pytree.compat import torch as compat

# Programs in which PyTorch raises and this module has a result.
TAKEN = {
    *("a_class_without_keys", "all_and_any_of_leaves_by_a_predicate", "all_and_any_without_a_function"),
    *("children_from_a_generator_and_names_for_them", "map_only_an_optional", "paths_into_outputs"),
    *("a_deep_tree", "a_namedtuple_with_a_constructor_of_its_own", "names_that_stand_for_no_class"),
}
# Those whose result is another one, as the docstring of the module says.
DIFFERENT = {
    # structures are values by exact type, print as trees and have no constructor
    *("keys_of_equal_numbers", "structures_that_equal_numbers_tell_apart", "a_spec_prints", "specs_by_constructor"),
    *("the_type_of_a_namedtuple", "contexts_with_keys", "a_context_that_changes_later", "a_spec_and_text"),
    *("a_dict_in_another_order_for_a_spec", "children_by_their_old_name", "specs_from_what_is_no_spec"),
    # text of its own
    *("the_text_of_a_spec", "what_is_written_differently"),
    # keys are what they are
    *("keys_that_lead_nowhere", "keys_to_what_is_no_child", "keys_of_a_class_of_ones_own"),
    "keys_in_another_order_than_the_children",
    # errors of another class, or where PyTorch has a warning or takes what it gets
    *("a_circle", "a_function_that_stops_iteration", "a_flatten_function_that_forgot_the_context"),
    *("dataclasses_that_are_refused", "text_and_dicts_are_no_list_of_leaves", "keywords_are_not_swapped"),
    # nothing is left of a registration that was refused, and one of a namedtuple is in force
    *("half_a_pair_of_functions", "a_namedtuple_that_is_registered", "a_tuple_class_with_field_names_alone"),
    *("a_class_is_taken_back", "one_level_of_a_tree", "trees_in_annotations"),
}


@pytest.mark.parametrize("program", all_programs(), ids=str)
def test_a_program_gives_what_pytorch_gives(program: Program) -> None:
    try:
        result: Any = program.run(compat)
    except AttributeError as error:  # a name that there is not
        result = error
    same = (result, repr(result)) == (program.there, repr(program.there))
    assert same is (str(program) not in TAKEN | DIFFERENT)
    if str(program) in TAKEN:
        assert "Error" in repr(program.there)


def test_most_programs_give_the_same() -> None:
    assert len(all_programs()) > 3 * len(TAKEN | DIFFERENT)


def test_the_lists_name_programs() -> None:
    assert {*map(str, all_programs())} >= TAKEN | DIFFERENT
    assert set() == TAKEN & DIFFERENT


def test_every_name_is_there() -> None:
    assert [name for name in compat.__all__ if not hasattr(compat, name)] == []
    assert isinstance(compat.LeafSpec(), compat.LeafSpec)
    assert not isinstance(compat.tree_structure([1]), compat.LeafSpec)


@pytest.mark.parametrize("module", ["torch", "jax", "optree"])
def test_nothing_of_the_other_library_is_imported(module: str) -> None:
    run_python(
        f"import clika_pytree.compat.{module}, sys\n"
        "assert not {'torch', 'jax', 'jaxlib', 'optree', 'numpy'} & {name.partition('.')[0] for name in sys.modules}\n"
    )
