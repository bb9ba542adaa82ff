"""Training with a compiled step: one graph for a thousand steps, whatever the size of the batch.

    python examples/training.py                # numpy is all it needs
    python examples/training.py --steps 200

A small network learns to tell three spirals apart. Its gradients are written by hand, the optimizer's state is a class
of its own, a batch is a dataclass; `compile` sees trees in all of them. Each line says what was done, and what it says
is checked: the same steps without `compile` must give the same parameters, bit by bit.
"""

import argparse
import dataclasses
import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

# Matrices as small as these are not worth a second thread, which costs much where other programs run.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import clika_pytree as cp

Tree = Any
CLASSES = 3


# ---- what a step takes and gives: trees of our own ----


@cp.register_dataclass
@dataclasses.dataclass
class Batch:
    """Points and their classes; the number of classes is static, so it belongs to the structure."""

    points: np.ndarray
    labels: np.ndarray
    classes: int = dataclasses.field(default=CLASSES, metadata={"static": True})


@cp.register_pytree_node_class
class Adam:
    """The state of the optimizer: how many steps there were, and two moments for each parameter.

    The count is a numpy scalar, hence a tensor: as an int it would be a constant of the graph, and each step a new one.
    """

    def __init__(self, count: Any, mean: Tree, square: Tree, rate: float) -> None:
        self.count, self.mean, self.square, self.rate = count, mean, square, rate

    def __tree_flatten__(self) -> tuple[tuple[Any, Tree, Tree], float, tuple[str, str, str]]:
        return (self.count, self.mean, self.square), self.rate, ("count", "mean", "square")

    @classmethod
    def __tree_unflatten__(cls, rate: float, children: tuple[Any, Tree, Tree]) -> "Adam":
        return cls(*children, rate)

    @classmethod
    def of(cls, params: Tree, rate: float) -> "Adam":
        zeros = cp.tree_map(np.zeros_like, params)
        return cls(np.float32(0), zeros, zeros, rate)

    def update(self, params: Tree, grads: Tree) -> tuple[Tree, "Adam"]:
        """New parameters and a new state."""
        count = self.count + np.float32(1)
        mean = cp.tree_map(lambda m, g: m * 0.9 + g * 0.1, self.mean, grads)
        square = cp.tree_map(lambda s, g: s * 0.999 + g * g * 0.001, self.square, grads)
        rate = self.rate * np.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        params = cp.tree_map(lambda p, m, s: p - rate * m / (np.sqrt(s) + 1e-8), params, mean, square)
        return params, Adam(count, mean, square, self.rate)


# ---- the network ----


def make_params(sizes: list[int], rng: np.random.Generator) -> list[dict[str, np.ndarray]]:
    return [
        {"w": (rng.standard_normal((m, n)) / np.sqrt(m)).astype(np.float32), "b": np.zeros(n, np.float32)}
        for m, n in itertools.pairwise(sizes)
    ]


def forward(params: Tree, points: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """The inputs of all layers, and the logits."""
    inputs = [points]
    for layer in params[:-1]:
        inputs.append(np.tanh(inputs[-1] @ layer["w"] + layer["b"]))
    return inputs, inputs[-1] @ params[-1]["w"] + params[-1]["b"]


def loss_and_gradients(params: Tree, batch: Batch) -> tuple[np.ndarray, Tree]:
    """The cross entropy of a softmax, and what to change in each parameter."""
    inputs, logits = forward(params, batch.points)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances = powers / powers.sum(axis=1, keepdims=True)
    wanted = (batch.labels[:, None] == np.arange(batch.classes)).astype(np.float32)
    loss = -np.log((chances * wanted).sum(axis=1)).mean()
    wrong = (chances - wanted) / batch.points.shape[0]
    grads = []
    for layer, x in zip(reversed(params), reversed(inputs), strict=True):
        grads.append({"w": x.T @ wrong, "b": wrong.sum(axis=0)})
        wrong = (wrong @ layer["w"].T) * (1 - x * x)
    return loss, grads[::-1]


def step(params: Tree, adam: Adam, batch: Batch) -> tuple[Tree, Adam, np.ndarray]:
    """One step of training: this is what is compiled."""
    loss, grads = loss_and_gradients(params, batch)
    params, adam = adam.update(params, grads)
    return params, adam, loss


# ---- data, and the loop ----


def spirals(number: int, rng: np.random.Generator) -> Batch:
    labels = rng.integers(CLASSES, size=number)
    radius = rng.uniform(0.1, 1, number)
    angle = radius * 5 + labels * (2 * np.pi / CLASSES) + rng.normal(0, 0.1, number)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return Batch(points.astype(np.float32), labels)


def batches(data: Batch, number: int, rng: np.random.Generator) -> Iterator[Batch]:
    """Batches of 1 to 256 points."""
    for _ in range(number):
        chosen = rng.integers(len(data.labels), size=rng.integers(1, 257))
        yield Batch(data.points[chosen], data.labels[chosen])


def train(step: Callable[..., Any], params: Tree, work: list[Batch]) -> tuple[Tree, list[float]]:
    """The parameters after one step for each batch, and the losses."""
    adam = Adam.of(params, rate=0.003)
    losses = []
    for batch in work:
        params, adam, loss = step(params, adam, batch)
        losses.append(float(loss))
    return params, losses


def seconds_beside(one: Callable[..., Any], other: Callable[..., Any], params: Tree, work: list[Batch]) -> list[float]:
    """The seconds of a step of each: the mean over the batches, of each the best of some turns."""
    adam = Adam.of(params, rate=0.003)
    best = np.full((2, len(work)), np.inf)
    for _ in range(7):
        for place, batch in enumerate(work):
            for number, step in enumerate((one, other)):
                start = time.perf_counter()
                step(params, adam, batch)
                best[number, place] = min(best[number, place], time.perf_counter() - start)
    return best.mean(axis=1).tolist()


# ---- what is printed ----


def say(what: str, text: object) -> None:
    for line in str(text).splitlines():
        print(f"{what:<11} {line}".rstrip())
        what = ""


def cut(line: str, width: int = 100) -> str:
    return line if len(line) <= width else f"{line[: width - 4]} ..."


def check(holds: object, claim: str) -> None:
    if not holds:
        raise SystemExit(f"This does not hold: {claim}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Training with a compiled step.")
    parser.add_argument("--steps", type=int, default=1000, help="how many (1000)")
    steps: int = parser.parse_args().steps
    if steps < 100:
        parser.error("--steps must be 100 at least")
    rng = np.random.default_rng(0)
    data, params = spirals(4000, rng), make_params([2, 64, 64, CLASSES], rng)
    work = list(batches(data, steps, rng))
    sizes = {len(batch.labels) for batch in work}
    print(f"clika_pytree {cp.__version__}, numpy {np.__version__}")
    say("data", f"{CLASSES} spirals of {len(data.labels):,} points; {steps:,} batches of {len(sizes)} different sizes")
    numbers = cp.tree_sum(cp.tree_map(np.size, params))
    say("network", f"{len(params)} layers, {numbers:,} parameters in {len(cp.tree_leaves(params))} arrays")

    compiled = cp.compile(step, dynamic=True)
    trained, losses = train(compiled, params, work)
    for end in range(steps // 5, steps + 1, steps // 5):
        mean = np.mean(losses[end - steps // 5 : end])
        say("training" if end == steps // 5 else "", f"step {end:5,}, mean loss of the last {steps // 5}: {mean:.3f}")
    check(np.mean(losses[-(steps // 5) :]) < np.mean(losses[: steps // 5]), "the loss goes down")
    right = (forward(trained, data.points)[1].argmax(axis=1) == data.labels).mean()
    say("", f"{right:.1%} of the points are put into the right class")

    info = compiled.cache_info()
    check((info.currsize, info.misses, info.hits) == (1, 1, steps - 1), "one graph ran for all batch sizes")
    say("graphs", info)
    (graph,) = table = compiled.graphs()
    say("", table)
    text = graph.program.text()
    lines = text[text.index("def graph(") :].splitlines()
    say("source", "\n".join([*map(cut, lines[:6]), f"... and {len(lines) - 6} more lines"]))

    again, _ = train(step, params, work)
    check(same_bits(trained, again), "compiled and eager training give the same parameters")
    say("eager", "the same steps without compile give the same parameters, bit by bit")
    ours, eager = seconds_beside(compiled, step, params, work[:50])
    say("time", f"{ours * 1e3:.3f} ms a step at best, eager {eager * 1e3:.3f} ms: {eager / ours:.2f} times that")

    wide = Batch(work[0].points.astype(np.float64), work[0].labels)
    say("explain", compiled.explain(params, Adam.of(params, rate=0.003), wide))
    say("", compiled.explain(params, Adam.of(params, rate=0.01), work[0]))
    check(compiled.cache_info().misses == 1, "explaining makes no graph")
    print("Everything said above was checked.")


def same_bits(a: Tree, b: Tree) -> bool:
    return cp.tree_all(cp.tree_map(lambda x, y: x.dtype == y.dtype and x.tobytes() == y.tobytes(), a, b))


if __name__ == "__main__":
    main()
