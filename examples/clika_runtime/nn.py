"""Modules: objects that compute with tensors of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from .tensor import Tensor, tensor


class Parameter(Tensor):
    """A tensor of a module that training changes."""

    def __init__(self, data: Any) -> None:
        array = tensor(data).numpy()
        super().__init__(array.shape, array.dtype, array=array)


class Module:
    """The class to derive from, which has a `forward`: tensors and modules that are attributes are its state."""

    forward: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def state_dict(self) -> dict[str, Tensor]:
        """Its tensors by name, those of the modules in it as `head.weight`."""
        state: dict[str, Tensor] = {}
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                state[name] = value
            elif isinstance(value, Module):
                state |= {f"{name}.{inner}": x for inner, x in value.state_dict().items()}
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over tensors by name; where they do not fit, nothing is changed."""
        own = self.state_dict()
        for name in own.keys() ^ state.keys():
            raise KeyError(f"{name} is in {'the module' if name in own else 'the state'} only")
        for name, x in own.items():
            if (x.shape, x.dtype) != (tuple(state[name].shape), state[name].dtype):
                raise ValueError(f"{name} is {x.dtype}{[*x.shape]}, got {state[name].dtype}{[*state[name].shape]}")
        for name, x in own.items():
            *owners, last = name.split(".")
            new = tensor(state[name])
            setattr(functools.reduce(getattr, owners, self), last, Parameter(new) if type(x) is Parameter else new)
