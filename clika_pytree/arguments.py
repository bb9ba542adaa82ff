"""Arguments of a call, refused where they are of the wrong sort, before anything is done."""

from __future__ import annotations

from ._native import PyTreeTypeError, PyTreeValueError
from .typing import TYPE_CHECKING
from .wording import described

if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []


def check_class(caller: str, cls: object) -> None:
    if not isinstance(cls, type):
        raise PyTreeTypeError(f"{caller} expects a class, got {described(cls)}; pass the class, not an instance of it")


def check_callable(caller: str, name: str, value: object) -> None:
    if not callable(value):
        raise PyTreeTypeError(f"{caller} expects a function as {name}, got {described(value)}")


def check_switch(caller: str, name: str, value: object) -> None:
    if type(value) is not bool:
        raise PyTreeTypeError(f"{caller} expects True or False as {name}, got {described(value)}")


def check_count(caller: str, name: str, value: Any, least: int = 1, otherwise: str = "") -> None:
    expected = f"{caller} expects a number from {least} on{otherwise} as {name}"
    if type(value) is not int:
        raise PyTreeTypeError(f"{expected}, got {described(value)}")
    if value < least:
        raise PyTreeValueError(f"{expected}, got {described(value)}")


def check_namespace(caller: str, namespace: Any) -> None:
    if isinstance(namespace, tuple):
        raise PyTreeTypeError(
            f"{caller} expects one namespace, got a tuple; tree functions search several, a registration is in one; "
            "call this once for each"
        )
    if not isinstance(namespace, str):
        raise PyTreeTypeError(f'{caller} expects a str as namespace ("" is the global one), got {described(namespace)}')
    try:
        namespace.encode()
    except UnicodeEncodeError:
        raise PyTreeTypeError(
            f"{caller} expects a namespace without lone surrogates, got {described(namespace)}"
        ) from None
