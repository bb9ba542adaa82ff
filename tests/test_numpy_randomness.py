"""Drawing random numbers while a function is recorded is an error, whatever holds the generator and whoever asks it."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import secrets
import subprocess
import sys
import threading
import time
import uuid
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import check

import clika_pytree as crt
from clika_pytree.runtimes.numpy import RecordingError, record
from clika_pytree.runtimes.numpy.randomness import BIT_GENERATORS, living

RNG = np.random.default_rng(5)
LEGACY = np.random.RandomState(5)
PYTHONS = random.Random(5)


class Holder:
    def __init__(self, rng):
        self.rng = rng

    def draw(self, x):
        return x + self.rng.normal()


def by_closure():
    rng = np.random.default_rng(1)
    return lambda x: x + rng.normal()


def helper(x):
    return x + RNG.random()


def with_default(x, rng=np.random.default_rng(3)):  # noqa: B008
    return x + rng.normal()


DRAWS = {
    "np.random.rand": (lambda x: x + np.random.rand(), "numpy's global generator"),
    "np.random.seed": (lambda x: (np.random.seed(), x)[1], "numpy's global generator"),
    "np.random.shuffle": (lambda x: (np.random.shuffle([1, 2, 3]), x)[1], "numpy's global generator"),
    "np.random.standard_normal": (lambda x: x * np.random.standard_normal(x.shape), "numpy's global generator"),
    "a global Generator": (lambda x: x + RNG.normal(), "RNG"),
    "in a helper": (lambda x: helper(x), "RNG"),
    "a global RandomState": (lambda x: x + LEGACY.rand(), "LEGACY"),
    "a closure": (by_closure(), "rng"),
    "a default": (with_default, "default 0 of with_default()"),
    "a partial": (functools.partial(with_default, rng=np.random.default_rng(4)), "rng"),
    "a method's object": (Holder(np.random.default_rng(2)).draw, "rng"),
    "in a container": (Holder({"a": [np.random.default_rng(2)]}), "rng"),
    "a bit generator": (lambda x: x + float(RNG.bit_generator.random_raw() % 7), "RNG"),
    "spawning": (lambda x: x + np.random.default_rng(RNG.spawn(1)[0]).normal(), "RNG"),
    "default_rng()": (lambda x: x + np.random.default_rng().normal(), "without a seed"),
    "RandomState()": (lambda x: x + np.random.RandomState().rand(), "without a seed"),
    "SeedSequence()": (lambda x: x + np.random.SeedSequence().generate_state(1)[0], "without a seed"),
    "PCG64()": (lambda x: x + np.random.Generator(np.random.PCG64()).normal(), "without a seed"),
}


@pytest.mark.parametrize("way", DRAWS)
def test_drawing_random_numbers_is_an_error(way):
    function, where = DRAWS[way]
    if isinstance(function, Holder):
        holder = function
        function = lambda x: x + holder.rng["a"][0].normal()  # noqa: E731
    with pytest.raises(RecordingError, match="random") as caught:
        record(lambda arrays: [function(*arrays)], [np.ones(3)])
    assert where in str(caught.value)
    assert f"at {__file__}:" in str(caught.value) or "noticed when it had returned" in str(caught.value)
    assert "draw them outside and pass them as an argument" in str(caught.value)


def test_a_generator_among_the_static_arguments_is_watched():
    rng = np.random.default_rng(0)
    call = [rng]
    function = eval("lambda call: lambda arrays: [arrays[0] + list(call)[0].normal()]")
    with pytest.raises(RecordingError, match="from call"):
        record(function(iter(call)), [np.ones(3)], [rng])


def test_numbers_of_a_seeded_generator_made_inside_are_constants():
    check(lambda x: [x + np.random.default_rng(7).normal(size=3)], [np.ones(3)], [np.zeros(3)])


def test_a_recording_is_not_blamed_for_what_was_drawn_before_it():
    outer_generator = np.random.default_rng()
    with pytest.raises(RecordingError, match="without a seed"):
        record(lambda arrays: [arrays[0] + np.random.default_rng().normal()], [np.ones(3)])
    np.random.default_rng()
    check(lambda x: [np.zeros(x.shape[0]), x + 1], [np.ones(3)])
    assert 0 <= outer_generator.random() < 1


def test_what_a_recording_inside_another_draws_is_drawn_in_both():
    def inner(x):
        with contextlib.suppress(RecordingError):
            record(lambda arrays: [arrays[0] + np.random.default_rng().normal()], [np.ones(3)])
        return x + 1

    with pytest.raises(RecordingError, match="without a seed"):
        record(lambda arrays: [inner(arrays[0])], [np.ones(3)])


class Protocols:
    """Draws where no name leads: the interpreter calls these."""

    def __init__(self):
        self.drawn = RNG.normal()

    def __getitem__(self, index):
        return RNG.normal()

    def __add__(self, other):
        return RNG.normal()

    def __iter__(self):
        yield RNG.normal()

    def __len__(self):
        return int(RNG.integers(1, 1000))

    def __enter__(self):
        return RNG.normal()

    def __exit__(self, *exc):
        pass

    @property
    def noise(self):
        return RNG.normal()

    @functools.cached_property
    def cached(self):
        return RNG.normal()

    @classmethod
    def of_class(cls):
        return RNG.normal()

    @staticmethod
    def static():
        return RNG.normal()


class Slots:
    __slots__ = ("rng",)

    def __init__(self):
        self.rng = np.random.default_rng(1)


@dataclass
class Deep:
    inner: Any


class OwnRandom(random.Random):
    pass


Named = namedtuple("Named", "rng")


def numbers():
    while True:
        yield RNG.normal()


def entered(x):
    with PROTOCOLS as noise:
        return x + noise


def imported_inside(x):
    import numpy.random as drawing

    return x + drawing.random()


PROTOCOLS, SLOTS, NAMED = Protocols(), Slots(), Named(np.random.default_rng(2))
DEQUE = deque([np.random.default_rng(2)])
ORDERED = OrderedDict(rng=np.random.default_rng(3))
FACTORY = defaultdict(lambda: RNG.normal())
NUMBERS = numbers()
DEEP = Deep(Deep(Deep({"a": [Slots()]})))
OWN = OwnRandom(3)
CACHED = functools.lru_cache(lambda key: RNG.normal())

HIDDEN = {
    "an __init__": lambda x: x + Protocols().drawn,
    "an index": lambda x: x + PROTOCOLS[0],
    "an operator": lambda x: x + (PROTOCOLS + 1),
    "an iteration": lambda x: x + next(iter(PROTOCOLS)),
    "a length": lambda x: x + len(PROTOCOLS),
    "a with block": entered,
    "a property": lambda x: x + PROTOCOLS.noise,
    "a cached property": lambda x: x + PROTOCOLS.cached,
    "a class method": lambda x: x + PROTOCOLS.of_class(),
    "a static method": lambda x: x + Protocols.static(),
    "slots": lambda x: x + SLOTS.rng.normal(),
    "a namedtuple": lambda x: x + NAMED.rng.normal(),
    "a deque": lambda x: x + DEQUE[0].normal(),
    "an OrderedDict": lambda x: x + ORDERED["rng"].normal(),
    "a factory": lambda x: x + FACTORY[len(FACTORY)],
    "a generator function": lambda x: x + next(NUMBERS),
    "attributes of attributes": lambda x: x + DEEP.inner.inner.inner["a"][0].rng.normal(),
    "globals()": lambda x: x + globals()["RNG"].normal(),
    "sys.modules": lambda x: x + sys.modules[__name__].RNG.normal(),
    "a key function": lambda x: x + max([1, 2], key=lambda _: RNG.normal()),
    "a map": lambda x: x + max(map(RNG.normal, [1])),
    "a cache": lambda x: x + CACHED(len(FACTORY)),
    "an import": imported_inside,
    "random.random": lambda x: x + random.random(),
    "random.shuffle": lambda x: (x + 1, random.shuffle([*range(50)]))[0],
    "random.gauss, of which every other is kept": lambda x: x + random.gauss(0, 1),
    "an object of random": lambda x: x + PYTHONS.random(),
    "one of a class of the user's": lambda x: x + OWN.random(),
    "Random()": lambda x: x + random.Random().random(),
    "SystemRandom": lambda x: x + random.SystemRandom().random(),
    "secrets": lambda x: x + secrets.randbelow(1000),
    "uuid4": lambda x: x + uuid.uuid4().int % 7,
    "os.urandom": lambda x: x + os.urandom(1)[0],
}


@pytest.mark.usefixtures("whole_heap")
@pytest.mark.parametrize("way", HIDDEN)
def test_whatever_holds_the_generator_a_draw_is_an_error(way):
    if way == "a cached property":
        vars(PROTOCOLS).pop("cached", None)
    with pytest.raises(RecordingError, match=r"random (numbers|bits|generator)") as caught:
        record(lambda arrays: [HIDDEN[way](*arrays)], [np.ones(3)])
    assert "pass them as an argument" in str(caught.value)


def test_what_is_drawn_from_the_system_names_the_users_line():
    with pytest.raises(RecordingError) as caught:
        record(lambda arrays: [arrays[0] + uuid.uuid4().int % 7], [np.ones(3)])
    assert str(caught.value).startswith(
        "The recorded function took random bits from the operating system (os.urandom, secrets, uuid and the like), at "
        f"{__file__}:"
    )
    assert "record(lambda arrays: [arrays[0] + uuid.uuid4().int % 7]" in str(caught.value)


def test_an_argument_is_called_as_the_user_calls_it():
    @crt.compile
    def noisy(x, options, generator=None):
        return x + (options["rng"] if generator is None else generator).normal()

    with pytest.raises(RecordingError, match=r"drew random numbers from options\['rng'\], noticed at "):
        noisy(np.ones(2), {"rng": np.random.default_rng(0)})
    with pytest.raises(RecordingError, match=r"drew random numbers from generator, noticed at "):
        noisy(np.ones(2), {}, np.random.default_rng(0))


def test_the_lines_between_which_a_number_was_drawn():
    """Far on in a function not every operation is looked at."""
    rng = np.random.default_rng(0)

    def function(arrays):
        (x,) = arrays
        for _ in range(100):
            x = x + 1
        x = x + rng.normal()
        x = x * 2
        for _ in range(50):
            x = x + 1
        return [x]

    first = function.__code__.co_firstlineno
    with pytest.raises(RecordingError, match="from rng, between ") as caught:
        record(function, [np.ones(2)])
    assert f"between {os.path.basename(__file__)}:{first + 3} and {__file__}:{first + 7}:" in str(caught.value)


def test_draws_of_other_threads_are_not_the_functions():
    own, shared = np.random.default_rng(0), np.random.RandomState(0)
    stop, drawing = threading.Event(), threading.Event()

    def load():
        while not stop.is_set():
            own.normal(), shared.rand(), np.random.rand(), random.random(), os.urandom(1), np.random.default_rng()
            drawing.set()
            time.sleep(0.001)

    threads = [threading.Thread(target=load) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        drawing.wait()
        for _ in range(8):

            def function(arrays):
                drawing.clear()
                drawing.wait()  # they draw while the function is recorded
                return [arrays[0] + 1]

            (result,), _ = record(function, [np.ones(2)])
            assert np.array_equal(result, [2, 2])
        for way in ("an index", "slots", "random.random", "os.urandom", "an import", "an object of random"):
            with pytest.raises(RecordingError, match="random"):
                record(lambda arrays, way=way: [HIDDEN[way](*arrays)], [np.ones(3)])
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_an_import_may_draw(tmp_path, monkeypatch):
    """It does so once in any case: a module that makes itself a generator, say."""
    (tmp_path / "drawing_at_import.py").write_text("import random, uuid\nrandom.Random(), uuid.uuid4()\n")
    monkeypatch.syspath_prepend(tmp_path)

    def function(arrays):
        import drawing_at_import

        return [arrays[0] + len(drawing_at_import.__name__)]

    (result,), _ = record(function, [np.ones(1)])
    assert result == [18]
    del sys.modules["drawing_at_import"]


def sources():
    return [np.random.bit_generator.randbits, random.Random.seed, random._urandom, os.urandom]


def test_nothing_stays_replaced():
    before = sources()

    def function(arrays):
        assert sources()[3] is not before[3]
        record(lambda inner: [inner[0] + 1], [np.ones(2)])
        assert sources()[3] is not before[3]
        return [arrays[0]]

    record(function, [np.ones(2)])
    assert sources() == before
    with pytest.raises(ZeroDivisionError):
        record(lambda arrays: [1 / 0], [np.ones(2)])
    assert sources() == before


def test_what_somebody_else_replaced_meanwhile_stays(monkeypatch):
    monkeypatch.setattr(os, "urandom", os.urandom)  # back to this at the end

    def other(size):
        return bytes(size)

    record(lambda arrays: [setattr(os, "urandom", other), arrays[0]][1:], [np.ones(2)])
    assert os.urandom is other


def test_generators_without_a_state_are_passed_over():
    """One that is being made by another thread has no memory for it yet; that of another library may be anything."""

    class Own(np.random.BitGenerator):
        @property
        def state(self):
            raise AssertionError

    kept = [cls.__new__(cls) for cls in (*BIT_GENERATORS, np.random.RandomState, np.random.SeedSequence)]
    kept += [Own(0), np.random.Generator.__new__(np.random.Generator)]
    check(lambda x: [x + len(kept)], [np.ones(3)])


def test_classes_that_cannot_be_hashed_are_passed_over():
    class Meta(type):
        __hash__ = None

        def __eq__(cls, other):
            raise AssertionError

    kept = Meta("Unhashable", (), {})()
    assert all(found is not kept for found in living())
    check(lambda x: [x + 1], [np.ones(3)])


def test_what_is_frozen_for_the_collector_is_found_by_name():
    """`gc.freeze`, as servers call it before they fork, hides objects from the collector."""
    code = """
import gc, numpy as np, clika_pytree as crt
RNG = np.random.default_rng(0)
gc.freeze()
try:
    crt.compile(lambda x: x + RNG.normal())(np.ones(2))
except crt.RecordingError as error:
    print(str(error)[:50])
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
    assert run.stdout == "The recorded function drew random numbers from RNG\n"


def test_the_generators_of_the_modules_are_watched_although_frozen():
    code = """
import gc, importlib, random, sys, numpy as np, clika_pytree as crt
gc.freeze()
for draw in (lambda x: x + importlib.import_module("numpy.random").rand(),
             lambda x: x + getattr(sys.modules["ran" + "dom"], "gauss")(0, 1)):
    try:
        crt.compile(draw)(np.ones(2))
    except crt.RecordingError as error:
        print(str(error).partition(",")[0])
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
    assert run.stdout.splitlines() == [
        "The recorded function drew random numbers from numpy's global generator",
        "The recorded function drew random numbers from the global generator of the module random",
    ]


def test_draws_inside_another_compiled_function_are_seen():
    inner = crt.compile(lambda x: x + RNG.normal())

    @crt.register_dataclass
    @dataclass
    class Layer:
        w: Any

        @crt.compile
        def noisy(self):
            return self.w + RNG.normal()

    layer = Layer(np.ones(2))
    for function in (lambda x: inner(x) * 2, lambda x: layer.noisy() * x):
        with pytest.raises(RecordingError, match="from RNG, noticed at"):
            crt.compile(function)(np.ones(2))
