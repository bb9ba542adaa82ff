"""Whether pyright finds the examples of README and docs/, and those of examples/, right, as an editor would show.

The installed package is what they import. A library that is not installed is passed over.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from documents import OTHER_LIBRARIES, examples  # noqa: E402

WORK = ROOT / "build" / "document_types"
# Lines that are wrong on purpose, as they show an error, and those that another library's own types refuse.
EXPECTED = {
    "docs/compile.md": ['predict(params, batch, {"tanh"})'],
    "docs/conversion.md": ["optree.register_pytree_node(Pair,"],
    "docs/errors.md": ["lambda p: [p.a, p.b, None, None]", "crt.tree_leaves([1], namespace=3)"],
    "docs/howto/store.md": ["layers.Linear(1, 2, print)"],
    "docs/sharing.md": ["optree.tree_structure(tree, none_is_leaf=True)"],
}


def write_programs() -> dict[Path, Path]:
    """Each document as one program, its lines where they are in the document; the documents by their programs."""
    WORK.mkdir(parents=True, exist_ok=True)
    programs: dict[Path, Path] = {}
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name = document.relative_to(ROOT).with_suffix(".py").as_posix().replace("/", "_")
        lines = [""] * document.read_text(encoding="utf-8").count("\n")
        for example in examples(document):
            source = example.source.splitlines()
            lines[example.line - 1 : example.line - 1 + len(source)] = source
        (WORK / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        programs[WORK / name] = document
    return programs


def main() -> None:
    programs = write_programs()
    settings = {
        "include": [".", "../../examples"],
        "extraPaths": ["../../examples"],
        "typeCheckingMode": "basic",
    }
    (WORK / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    pyright = Path(sys.executable).with_name("pyright")
    command = [pyright, "--project", WORK, "--pythonpath", sys.executable, "--outputjson"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    assert report["summary"]["filesAnalyzed"] >= len(programs), "pyright did not read all of them"
    wrong = 0
    for said in report["generalDiagnostics"]:
        file, number = Path(said["file"]), said["range"]["start"]["line"]
        document = programs.get(file, file)
        line = document.read_text(encoding="utf-8").splitlines()[number]
        name = document.relative_to(ROOT).as_posix()
        missing = re.match(r'Import "(\w+)\S*" could not be resolved', said["message"])
        if missing and missing[1] in (*OTHER_LIBRARIES, "safetensors"):
            continue
        if not any(expected in line for expected in EXPECTED.get(name, ())):
            wrong += 1
            print(f"{name}:{number + 1}: {said['message']}")
    print(f"{len(programs)} documents, {wrong} lines that pyright finds wrong", file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
