"""PyTorch itself. Nothing else here imports it by name, so that types are checked the same where it is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from clika_pytree._native import PyTreeValueError

__all__: list[str] = []

torch: Any = import_module("torch")
functorch: Any = torch._C._functorch
overrides: Any = import_module("torch.overrides")
fakes: Any = import_module("torch._subclasses.fake_tensor")
functional: Any = import_module("torch._subclasses.functional_tensor")

# Asked at each call: names of this module, so that neither is looked up in others.
current_level: Any = functorch.maybe_current_level
count_of_modes: Any = torch._C._len_torch_dispatch_stack

Tensor: type[Any] = torch.Tensor
Module: type[Any] = torch.nn.Module
FakeTensor: type[Any] = fakes.FakeTensor
# What PyTorch computes with while it traces: tensors without elements, and sizes without a value.
Traced: tuple[type[Any], ...] = (FakeTensor, functional.FunctionalTensor)
Symbols: tuple[type[Any], ...] = (torch.SymInt, torch.SymFloat, torch.SymBool)


class NoElements(RuntimeError):
    """The elements of a tensor were asked for that has none, as it only stands for one."""


# What is raised where a branch, or a number, follows from the elements of a tensor or from a size.
NEEDS_VALUE: tuple[type[Exception], ...] = (
    NoElements,
    import_module("torch.fx.experimental.symbolic_shapes").GuardOnDataDependentSymNode,
    fakes.DataDependentOutputException,
    fakes.DynamicOutputShapeException,
)


def check_version() -> None:
    """Refuse a PyTorch that can't compile a function which Python runs."""
    if not hasattr(torch.compiler, "nonstrict_trace"):
        raise PyTreeValueError(
            f"compiling functions of tensors needs PyTorch 2.7 or newer, and {torch.__version__} is installed: "
            "pip install -U torch"
        )


def is_real(x: Any) -> bool:
    """Whether it is a tensor with elements."""
    return isinstance(x, Tensor) and not isinstance(x, Traced) and not functorch.is_functorch_wrapped_tensor(x)


def is_transforming() -> bool:
    """Whether this thread is inside `torch.func`, `make_fx`, an export, or another mode that sees each operation."""
    return current_level() is not None or count_of_modes() > 0
