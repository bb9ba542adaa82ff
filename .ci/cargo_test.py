"""Run `cargo test` against the interpreter that runs this file. Arguments go to cargo.

Rust's tests are programs of their own that hold Python, so they are linked with its shared library and have to find it
again when they start.
"""

import os
import sys
import sysconfig
from pathlib import Path


def shared_library() -> Path | None:
    """The libpython of this interpreter, under the name that the linker looks for."""
    version = sysconfig.get_config_var("LDVERSION")
    folders = [sysconfig.get_config_var(name) for name in ("LIBDIR", "LIBPL", "PYTHONFRAMEWORKPREFIX")]
    names = [f"libpython{version}.so", f"libpython{version}.dylib", sysconfig.get_config_var("LDLIBRARY")]
    found = (Path(folder, name) for folder in folders if folder for name in names if name and not name.endswith(".a"))
    return next((library for library in found if library.is_file()), None)


def main() -> None:
    library = shared_library()
    if library is None:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        sys.exit(
            f"Rust's tests are linked with libpython{version}, and {sys.executable} has no shared one.\n"
            f"On Debian and Ubuntu: apt install libpython{version}-dev\n"
            f"With pyenv: PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {version}\n"
            "Or name another interpreter: make test PYTHON=/path/to/python3"
        )
    env = {**os.environ, "PYO3_PYTHON": sys.executable}
    for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
        env[name] = os.pathsep.join(filter(None, [str(library.parent), env.get(name)]))
    os.execvpe("cargo", ["cargo", "test", *sys.argv[1:]], env)


if __name__ == "__main__":
    main()
