"""Floating-point errors, and other errors of a later call: a graph gives those that the function gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clika_pytree as crt
from clika_pytree.runtimes.numpy import RecordingError

ZEROS, ONES = np.zeros(2), np.ones(2)
BIG, MANY_ONES = np.linspace(-3, 3, 400_001), np.ones(400_001)
STATES: list[dict[str, Any]] = [
    {"all": "ignore"},
    {"all": "warn"},
    {"all": "raise"},
    {"divide": "raise"},
    {"divide": "ignore", "invalid": "raise"},
]


def plain(x: Any) -> Any:
    return 1 / x


def raising(x: Any) -> Any:
    with np.errstate(divide="raise"):
        return 1 / x


def quiet(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        y = 1 / x
    return y, np.log(x - 1)


def nested(x: Any) -> Any:
    with np.errstate(all="ignore"):
        with np.errstate(invalid="warn"):
            y = np.log(x - 1)
        return y, 1 / x


def restored(x: Any) -> Any:
    before = np.seterr(divide="ignore")
    y = 1 / x
    np.seterr(**before)
    return y, 1 / x


def chain(x: Any) -> Any:
    return (np.log(x) * 2 + 1) * x / (x - x) * np.exp(x * 1000) + np.log(x)


def outcome(function: Callable[[Any], Any], x: Any, state: dict[str, Any]) -> Any:
    """What a call gives, and what it warns of."""
    with np.errstate(**state), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = [array.tobytes() for array in [*function(x)]]
        except FloatingPointError as error:
            found = [repr(error)]
    return found, [(warning.category, str(warning.message)) for warning in caught]


@pytest.mark.parametrize("first", STATES, ids=range(len(STATES)))
@pytest.mark.parametrize(
    ("function", "made_for", "given"),
    [
        (plain, ONES, ZEROS),
        (plain, ZEROS, ZEROS),
        (raising, ONES, ZEROS),
        (quiet, ONES * 2, ZEROS),
        (nested, ONES * 2, ZEROS),
        (restored, ONES, ZEROS),
        (chain, MANY_ONES, BIG),
        (chain, ONES, BIG[:5]),
    ],
    ids=["plain", "plain with errors", "raising", "quiet", "nested", "restored", "blocks", "small"],
)
def test_errors_are_handled_as_around_each_call(
    function: Callable[[Any], Any], made_for: Any, given: Any, first: dict[str, Any]
) -> None:
    compiled = crt.compile(function, dynamic=True)
    assert outcome(compiled, made_for, first) == outcome(function, made_for, first)
    for state in STATES:
        assert outcome(compiled, given, state) == outcome(function, given, state)
    assert np.geterr() == {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


def test_a_function_that_is_called_at_errors_is_called_as_often() -> None:
    compiled = crt.compile(chain)
    with np.errstate(all="ignore"):
        compiled(MANY_ONES + 1)
    calls: list[Any] = []
    with np.errstate(all="call", call=lambda text, bits: calls.append((text, bits))):
        compiled(BIG)
        found = calls.copy()
        calls.clear()
        chain(BIG)
    assert found == calls
    assert len(calls) > 3


def test_errors_that_are_printed_or_logged(capfd: pytest.CaptureFixture[str]) -> None:
    class Log:
        def __init__(self) -> None:
            self.lines: list[str] = []

        def write(self, line: str) -> None:
            self.lines.append(line)

    compiled, log = crt.compile(chain), Log()
    with np.errstate(all="ignore"):
        compiled(MANY_ONES + 1)
    with np.errstate(all="print"):
        compiled(BIG)
        printed = capfd.readouterr()
        chain(BIG)
        assert sorted((printed.out + printed.err).split("\n")) == sorted("".join(capfd.readouterr()).split("\n"))
    with np.errstate(all="log", call=log):
        compiled(BIG)
        found, log.lines = log.lines, []
        chain(BIG)
    assert found == log.lines
    assert len(found) > 3


def test_errors_without_tensors_are_those_of_numpy() -> None:
    def function(x: Any) -> Any:
        return x + np.log(np.zeros(2)), x * (np.float64(1) / 0)

    for state in STATES:
        assert outcome(crt.compile(function), ONES, state) == outcome(function, ONES, state)


def for_good(x: Any) -> Any:
    np.seterr(divide="ignore")
    return 1 / x


def with_a_call(x: Any) -> Any:
    with np.errstate(divide="call", call=print):
        return 1 / x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (for_good, r"changed what numpy does about errors for good.*with np\.errstate"),
        (with_a_call, "is not recorded, at "),
    ],
)
def test_a_state_that_a_graph_would_not_have_is_refused(function: Callable[[Any], Any], message: str) -> None:
    before = np.geterr(), np.geterrcall()
    with pytest.raises(RecordingError, match=message):
        crt.compile(function)(ONES)
    assert (np.geterr(), np.geterrcall()) == before


def test_an_exception_leaves_the_state_as_it_was() -> None:
    def fails(x: Any) -> Any:
        np.seterr(all="ignore")
        raise KeyError("from the function")

    before = np.geterr(), np.geterrcall()
    with pytest.raises(KeyError, match="from the function"):
        crt.compile(fails)(ONES)
    assert (np.geterr(), np.geterrcall()) == before


def places(function: Callable[[Any], Any], x: Any) -> list[tuple[str, int, str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(x)
    return [(warning.filename, warning.lineno, str(warning.message)) for warning in caught]


def warning(x: Any) -> Any:
    y = 1 / (x - x)
    values, index = np.log(x - 2), np.array([0])
    return y, values, np.mean(x[:0]), x.astype(complex).astype(float), x[index] / np.zeros(1)


def test_warnings_of_the_first_call_name_the_line() -> None:
    found = places(crt.compile(warning), ONES)
    assert found == places(warning, ONES)
    assert len({line for file, line, _ in found if file == __file__}) == 3


def test_warnings_of_the_first_call_are_those_of_the_module() -> None:
    """Filters and the memory of what was said go by the module whose line it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", module=__name__)
        assert np.isinf(crt.compile(plain)(ZEROS)).all()


def test_an_error_of_numpy_has_each_line_once_in_its_traceback() -> None:
    def mismatched(x: Any) -> Any:
        return np.add(x, np.ones(5))

    with pytest.raises(ValueError, match="could not be broadcast") as caught:
        crt.compile(mismatched)(ONES)
    assert [entry.name for entry in caught.traceback if str(entry.path) == __file__].count("mismatched") == 1
