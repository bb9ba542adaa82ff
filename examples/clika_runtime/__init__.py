"""A small library of lazy tensors on numpy, as a runtime of clika_pytree: what the author of one writes.

    import clika_runtime as crt
    from clika_runtime import pytree

Operators give a tensor at once and compute nothing; `eval`, or a look at the elements, does. `compile`, `trace`,
`eval`, `save`, `load` and `pytree` are those of clika_pytree, which is told of this library by `LazyRuntime`.
"""

import functools

import clika_pytree
from clika_pytree import compile, eval, pytree, save, trace

from . import nn
from .operators import *  # noqa: F403
from .runtime import LazyRuntime
from .tensor import Tensor, tensor

runtime = clika_pytree.register_runtime(LazyRuntime())
# A file does not say whose tensors it holds.
load = functools.partial(clika_pytree.load, runtime=runtime)

__all__ = ["Tensor", "compile", "eval", "load", "nn", "pytree", "runtime", "save", "tensor", "trace"]
