"""What cannot be recorded is an error that names the user's line and says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recorded import check

from clika_pytree import PyTreeTypeError
from clika_pytree.runtimes.numpy import RecordingError, record

CAPTURED = np.ones(3)


def refused(function: Any, x: Any = None) -> str:
    with pytest.raises(RecordingError) as caught:
        record(lambda arrays: [function(*arrays)], [np.arange(6.0).reshape(2, 3) if x is None else x])
    assert isinstance(caught.value, PyTreeTypeError)
    return str(caught.value)


def caught_by_the_function(x):
    try:
        return float(x[0, 0])
    except TypeError:
        return 0.0


VALUES = {
    "A branch (if, while, and, or, not)": lambda x: 1 if x.sum() > 0 else 2,
    "float()": lambda x: float(x[0, 0]),
    "int()": lambda x: int(x[0, 0]),
    "complex()": lambda x: complex(x[0, 0]),
    "round()": lambda x: round(x[0, 0]),
    "hash()": lambda x: {x[0, 0]: 1},
    ".tolist()": lambda x: x.tolist(),
    ".item()": lambda x: x.item(0),
    ".tobytes()": lambda x: x.tobytes(),
    ".dump()": lambda x: x.dump("file"),
    "dlpack()": lambda x: np.from_dlpack(x),
    "Formatting": lambda x: f"{x[0, 0]:.2f}",
    "The text of a tensor (str(), repr(), print() and the like)": lambda x: str(x),
    "`in`": lambda x: 3 in x,
    "Pickling or copying": lambda x: __import__("pickle").dumps(x),
    "np.allclose, whose result is a Python bool,": lambda x: np.allclose(x, x),
    "np.array_equal, whose result is a Python bool,": lambda x: np.array_equal(x, x),
    "np.array2string, whose result is a Python str,": lambda x: np.array2string(x),
    "np.shares_memory()": lambda x: np.shares_memory(x, x),
    "A size that depends on values, used as a number,": lambda x: np.zeros(len(x[x > 1])),
}


@pytest.mark.parametrize("what", VALUES)
def test_what_needs_a_value_names_the_line(what):
    function = VALUES[what]
    message = refused(function)
    assert message.startswith(f"{what} needs the value of a tensor, which differs from call to call, at {__file__}:")
    first = function.__code__.co_firstlineno
    assert f"{__file__}:{first}:\n    {what!r:.3}"[:-4] in message
    assert "np.where for a branch" in message


@pytest.mark.parametrize(
    ("function", "what", "advice"),
    [
        (lambda x: np.asarray(x), "np.asarray() of a tensor", "np.stack, not np.array"),
        (lambda x: np.array([x, x]), "np.asarray() of a tensor", "np.stack, not np.array"),
        (lambda x: np.zeros(3).__setitem__(0, x[0, 0]), "float() needs the value of a tensor", "np.zeros_like(x) for"),
        (lambda x: np.zeros(3).__setitem__(slice(3), x[0]), "np.asarray() of a tensor", "np.zeros_like(x), not into"),
        (lambda x: CAPTURED[x[0].astype(int)], "A tensor as an index", "np.take_along_axis(table, index, 0)"),
        (lambda x: [1, 2, 3][x[0, 0].astype(int)], "A tensor as an index", "np.take_along_axis(table, index, 0)"),
        (lambda x: np.copyto(CAPTURED, x[0]), "np.copyto writes into an array that the function captured", "x.copy()"),
        (lambda x: np.add(x[0], 1, out=CAPTURED), "np.add writes into an array", "as an argument"),
        (lambda x: np.add.at(CAPTURED, [0], x[0, 0]), "np.add.at writes into an array", "as an argument"),
        (lambda x: CAPTURED.__iadd__(x[0]), "np.add writes into an array", "as an argument"),
        (lambda x: x.sum(0, out=CAPTURED), "sum writes into an array", "as an argument"),
        (lambda x: np.sum(x, 0, out=CAPTURED), "np.sum writes into an array", "as an argument"),
        (lambda x: np.sum(x, 0, None, CAPTURED), "np.sum() got its `out` by position", "out="),
        (lambda x: np.broadcast_arrays(CAPTURED, x[0])[0].sort(), "sort writes into an array", "as an argument"),
        (lambda x: CAPTURED.__setitem__(0, x[0, 0]), "float() needs the value of a tensor", "leave this step out"),
        (lambda x: x.strides, "The attribute .strides is about the memory", "x.reshape(-1)"),
        (lambda x: x.flat[0], "The attribute .flat is about the memory", "x.reshape(-1)"),
        (lambda x: x.flags, "The attribute .flags is about the memory", "x.reshape(-1)"),
        (lambda x: setattr(x, "shape", (3, 2)), "Setting .shape of a recorded array", "x.reshape()"),
        (lambda x: np.save("file", x), "np.save() writes a file at the first call only", "return the tensors"),
        (caught_by_the_function, "float() needs the value of a tensor", "leave this step out"),
    ],
)
def test_other_refusals(function, what, advice):
    before = CAPTURED.copy()
    message = refused(function)
    assert message.startswith(what)
    assert f"at {__file__}:" in message
    assert advice in message
    assert np.array_equal(CAPTURED, before)


class Tagged(np.ndarray):
    def hello(self):
        return 1


@pytest.mark.parametrize(
    ("x", "function", "what", "advice"),
    [
        (
            np.ma.array([1.0, 2], mask=[0, 1]),
            lambda x: x.filled(0),
            ".filled of a MaskedArray",
            "np.ma.getmaskarray(x)",
        ),
        (np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]), lambda x: x.a, ".a of a recarray", "write x['a']"),
        (np.eye(2).view(np.matrix), lambda x: x.I, ".I of a matrix", "pass np.asarray(x), and what the class"),
        (np.ones(2).view(Tagged), lambda x: x.hello(), ".hello of a Tagged", "pass np.asarray(x), and what the class"),
    ],
    ids=["masked", "records", "matrix", "own"],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_what_only_some_classes_of_arrays_have_is_told_another_way(x, function, what, advice):
    message = refused(function, x)
    assert message.startswith(f"The attribute {what} is not recorded, at {__file__}:")
    assert advice in message


def test_an_error_that_is_caught_is_a_branch():
    def inverse(x):
        try:
            return np.linalg.inv(x)
        except np.linalg.LinAlgError:
            return x * 0

    message = refused(inverse, np.ones((2, 2)))
    assert message.startswith("np.linalg.inv raised LinAlgError (Singular matrix), which the function caught, at ")
    assert "return np.linalg.inv(x)" in message

    def either(x):
        try:
            return x.sum(axis=1)
        except np.exceptions.AxisError:
            try:
                return x << 1
            except TypeError:
                return x + 1

    check(lambda x: [either(x)], [np.ones(3)], [np.zeros(5)])


def test_errors_of_numpy_are_numpys():
    with pytest.raises(ValueError, match="could not be broadcast"):
        record(lambda arrays: [arrays[0] + np.ones(5)], [np.ones(3)])
    with pytest.raises(AttributeError, match="'ndarray' object has no attribute 'sumn'"):
        record(lambda arrays: [arrays[0].sumn()], [np.ones(3)])
    with pytest.raises(TypeError, match=r"unhashable type: 'numpy\.ndarray'"):
        record(lambda arrays: [{arrays[0]: 1}], [np.ones(3)])
    with pytest.raises(RecordingError, match="expects numpy arrays, got list at 1"):
        record(lambda arrays: arrays, [np.ones(3), [1]])
