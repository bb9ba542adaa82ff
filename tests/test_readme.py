"""Every example of the README and of docs/ prints what stands below it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import documents
import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WITH_EXAMPLES = [document for document in DOCUMENTS if documents.examples(document)]


@pytest.mark.parametrize("document", WITH_EXAMPLES, ids=lambda path: path.name)
def test_examples_print_what_is_said(document, tmp_path):
    for library in documents.needed(example.source for example in documents.examples(document)):
        pytest.importorskip(library, reason=f"its examples are about {library}, which is not installed")
    command = [sys.executable, "-W", "error", documents.__file__, str(document)]
    folders = [str(ROOT / "examples"), os.environ.get("PYTHONPATH", "")]  # some are about a library in it
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    said = [[example.line, example.output] for example in documents.examples(document)]
    assert json.loads(done.stdout) == said


def test_the_documents_have_examples():
    assert {"README.md", "rules.md"} <= {document.name for document in WITH_EXAMPLES}


def test_a_wrong_example_is_found(tmp_path):
    document = tmp_path / "wrong.md"
    document.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n\nText.\n\n```python\n{}['k']\n```\n")
    first, second = documents.examples(document)
    assert (first.line, first.output, documents.run(first, document)) == (2, "2\n", "1\n")
    assert (second.line, second.output, documents.run(second, document)) == (12, "", "KeyError: 'k'\n")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    targets = [part.split(")")[0].split("#")[0] for part in document.read_text(encoding="utf-8").split("](")[1:]]
    local = [target for target in targets if target and "://" not in target]
    assert [target for target in local if not (document.parent / target).exists()] == []
