"""Structures of other libraries as TreeSpecs and back. None of those libraries is imported before it is asked for."""

from .functions import (
    treespec_from_jax,
    treespec_from_optree,
    treespec_from_torch,
    treespec_to_jax,
    treespec_to_optree,
    treespec_to_torch,
)

__all__ = [
    "treespec_from_jax",
    "treespec_from_optree",
    "treespec_from_torch",
    "treespec_to_jax",
    "treespec_to_optree",
    "treespec_to_torch",
]
