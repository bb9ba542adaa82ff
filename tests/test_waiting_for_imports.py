"""What waits for the import of a module: when it is done, and that imports are what they are without it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

from clika_pytree.other_libraries import imports


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Makes modules that can be imported; their names are `waited_for_...`."""
    monkeypatch.syspath_prepend(tmp_path)
    made: list[str] = []

    def make(name: str, source: str = "", **submodules: str) -> str:
        name = f"waited_for_{name}"
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        for part, text in {"__init__": source, **submodules}.items():
            (folder / f"{part}.py").write_text(text)
        importlib.invalidate_caches()
        made.append(name)
        return name

    yield make
    for name in [name for name in sys.modules if name.partition(".")[0] in made]:
        del sys.modules[name]
    assert not imports._waiting
    assert not is_there()


def is_there() -> bool:
    return imports.finder in sys.meta_path


def test_it_is_done_at_once_where_the_module_is_there() -> None:
    done: list[int] = []
    imports.when_imported("json", lambda: done.append(1))
    assert done == [1]
    assert not is_there()


def test_it_is_done_once_when_the_module_has_run(module: Callable[..., str]) -> None:
    name = module("once", "finished = False\nimport json\nfinished = True")
    seen: list[Any] = []
    imports.when_imported(name, lambda: seen.append(sys.modules[name].finished))
    imports.when_imported(name, lambda: seen.append("second"))
    assert seen == []
    assert is_there()
    importlib.import_module(name)
    assert seen == [True, "second"]
    assert not is_there()
    importlib.reload(sys.modules[name])
    assert seen == [True, "second"]


def test_a_module_does_not_see_the_finder(module: Callable[..., str]) -> None:
    """Its loader is the one that it has without it, while it runs and afterwards."""
    name = module("plain", "spec, loader = __spec__, __loader__\nfound = type(loader), type(spec.loader)")
    imports.when_imported(name, lambda: None)
    found = importlib.import_module(name)
    assert found.found == (SourceFileLoader, SourceFileLoader)
    assert type(found.__loader__) is type(found.__spec__.loader) is SourceFileLoader
    assert found.__spec__.origin == found.__file__


def test_submodules_are_imported_as_ever(module: Callable[..., str]) -> None:
    name = module("parent", "from . import child", child="value = 3", later="from .child import value")
    order: list[str] = []
    imports.when_imported(name, lambda: order.append("parent"))
    imports.when_imported(f"{name}.child", lambda: order.append("child"))
    imports.when_imported(f"{name}.later", lambda: order.append("later"))
    assert importlib.import_module(name).child.value == 3
    assert order == ["child", "parent"]
    assert is_there()
    assert importlib.import_module(f"{name}.later").value == 3
    assert order == ["child", "parent", "later"]


def test_to_ask_whether_a_module_could_be_imported_does_nothing(module: Callable[..., str]) -> None:
    name = module("asked")
    done: list[int] = []
    imports.when_imported(name, lambda: done.append(1))
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    assert spec.loader.get_source(name) == ""  # type: ignore[attr-defined]
    assert importlib.util.find_spec("waited_for_nothing") is None
    assert done == []
    assert is_there()
    importlib.import_module(name)
    assert done == [1]


def test_a_module_that_fails_can_be_imported_again(module: Callable[..., str]) -> None:
    name = module("broken", "import a_module_that_there_is_not")
    done: list[int] = []
    imports.when_imported(name, lambda: done.append(1))
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="a_module_that_there_is_not"):
            importlib.import_module(name)
        assert name not in sys.modules
        assert done == []
        assert is_there()
    module("broken", "mended = True")
    sys.path_importer_cache.clear()
    assert importlib.import_module(name).mended
    assert done == [1]


def test_a_module_that_there_is_not_is_an_error_as_ever() -> None:
    action = lambda: None  # noqa: E731
    imports.when_imported("waited_for_in_vain", action)
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'waited_for_in_vain'$"):
        importlib.import_module("waited_for_in_vain")
    imports.no_longer("waited_for_in_vain", action)
    assert not is_there()
    imports.no_longer("waited_for_in_vain", action)


def test_a_lazy_module_counts_when_it_runs(module: Callable[..., str]) -> None:
    name = module("lazy", "value = 3")
    done: list[int] = []
    imports.when_imported(name, lambda: done.append(1))
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    lazy = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lazy)
    assert done == []
    assert lazy.value == 3
    assert done == [1]


def test_another_finder_may_ask_all_of_them(module: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Asking:
        """As tools do that watch imports: it asks everybody else, this finder among them."""

        def __init__(self) -> None:
            self.names: set[str] = set()

        def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
            if name in self.names:
                return None
            self.names.add(name)
            try:
                return importlib.util.find_spec(name)
            finally:
                self.names.discard(name)

    name = module("watched", "value = 3")
    done: list[int] = []
    monkeypatch.setattr(sys, "meta_path", [Asking(), *sys.meta_path])
    imports.when_imported(name, lambda: done.append(1))
    assert importlib.import_module(name).value == 3
    assert done == [1]


@pytest.mark.usefixtures("taking_turns")
def test_threads_that_import_at_once(module: Callable[..., str]) -> None:
    """Each thing is done once and by one thread, while others wait for more and import more."""
    names = [module(f"shared{number}", "import json\nvalue = 1", part="value = 2") for number in range(8)]
    done: list[str] = []
    start = threading.Barrier(8)
    failures: list[BaseException] = []

    def work(first: int) -> None:
        try:
            start.wait()
            for name in names[first:] + names[:first]:
                imports.when_imported(name, lambda name=name: done.append(name))
                assert importlib.import_module(f"{name}.part").value == 2
                assert importlib.import_module(name).value == 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    imports.settle()
    assert failures == []
    assert sorted(done) == sorted(names * 8)


def test_what_begins_to_wait_in_the_middle_of_an_import_is_done_with_the_next_one(module: Callable[..., str]) -> None:
    """The import began before the finder was there."""
    name = module(
        "half",
        "from clika_pytree.other_libraries import imports\nseen = []\n"
        "imports.when_imported(__name__, lambda: seen.append(full))\n"
        "import wave\nassert not seen\nfull = True",
    )
    found = importlib.import_module(name)
    assert found.seen == []
    assert is_there()
    assert importlib.util.find_spec("waited_for_nothing") is None
    assert found.seen == [True]
