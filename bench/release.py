"""Figures of a debug build mean nothing: whatever measures asks first."""

import sys

from clika_pytree import _native


def require_release() -> None:
    if _native.build_profile != "release":
        sys.exit(
            f"This is a {_native.build_profile} build of clika_pytree; its times say nothing. `make bench` builds a"
            " release, and so does `maturin develop --release`."
        )
