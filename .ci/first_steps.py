"""What a newly installed package can do beside numpy alone; run in an empty folder, by the environment at hand."""

import importlib.metadata
import sys

import clika_pytree
from clika_pytree import pytree

assert "numpy" not in sys.modules, "importing the package imports numpy"
version = importlib.metadata.version("clika-pytree")
assert clika_pytree.__version__ == version, (clika_pytree.__version__, version)

leaves, spec = pytree.tree_flatten({"w": [1, 2], "b": None})
assert spec.unflatten(leaves) == {"w": [1, 2], "b": None}

import numpy  # noqa: E402  (only now: see above)

double = clika_pytree.compile(lambda tree: tree["x"] * 2)
assert double({"x": numpy.ones(3)}).tolist() == [2, 2, 2]
clika_pytree.save({"x": numpy.ones(3)}, "tree.safetensors")
assert clika_pytree.load("tree.safetensors")["x"].tolist() == [1, 1, 1]
print(f"clika-pytree {version} with numpy {numpy.__version__}: imported, compiled, saved, loaded", flush=True)
