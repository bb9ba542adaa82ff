"""The walk of floor.c, compiled with the C compiler that Rust links with."""

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

SOURCE = Path(__file__).with_name("floor.c")


def build_floor() -> ModuleType | None:
    """The module, or None where it cannot be compiled; that is said."""
    built = SOURCE.parents[1] / "build" / f"floor{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not built.exists() or built.stat().st_mtime < SOURCE.stat().st_mtime:
        built.parent.mkdir(exist_ok=True)
        import subprocess  # not where instructions are counted

        include = sysconfig.get_path("include")
        # Under a name of its own until it is whole: another process may ask for it at the same time.
        part = built.with_suffix(f".{os.getpid()}")
        command = ["cc", "-O3", "-shared", "-fPIC", f"-I{include}", str(SOURCE), "-o", str(part)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
            part.replace(built)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"No floor, {error}\n{getattr(error, 'stderr', '')}", file=sys.stderr)
            return None
    spec = importlib.util.spec_from_file_location("floor", built)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
