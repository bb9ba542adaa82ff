"""Every example of the README and of docs/ prints what stands below it."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import documents
import pytest

import clika_pytree

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    targets = [part.split(")")[0] for part in document.read_text(encoding="utf-8").split("](")[1:]]
    wrong = []
    for target in targets:
        name, _, anchor = target.partition("#")
        path = document.parent / name if name else document
        if "://" not in target and not (path.exists() and (not anchor or anchor in documents.anchors(path))):
            wrong.append(target)
    assert wrong == []


def test_the_reference_has_every_public_name_once():
    pages = sorted((ROOT / "docs" / "reference").glob("*.md"))
    names = [name for page in pages for name in documents.referred(page)]
    expected = [f"clika_pytree.{name}" for name in clika_pytree.pytree.__all__]
    expected += [f"clika_pytree.{name}" for name in clika_pytree.BOUNDARIES]
    own = [name for name in names if name.count(".") == 1]
    assert sorted(own) == sorted(expected)
    assert len(names) == len(set(names))


def test_the_page_of_errors_has_each_of_them():
    classes = [name for name in dir(clika_pytree) if name.endswith(("Error", "Warning"))]
    text = "\n".join(re.findall(r"^## (.*)$", (ROOT / "docs" / "errors.md").read_text(encoding="utf-8"), re.M))
    assert sorted(set(re.findall(r"\w+(?:Error|Warning)", text)) | {"PyTreeError"}) == classes


def test_each_error_says_what_to_do():
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    sections = [section for section in re.split(r"^## ", text, flags=re.M)[1:] if not section.startswith("Errors of")]
    assert [section.splitlines()[0] for section in sections if "\n*Do:*" not in section] == []


def test_the_published_readme_leads_to_the_repository():
    published = runpy.run_path(str(ROOT / ".ci" / "published.py"))
    where = ("https://host/owner/name", "v1")
    after = published["with_address"]((ROOT / "README.md").read_text(encoding="utf-8"), *where)
    links = re.findall(r"(!?)\[[^\]]*\]\((\S+)\)", re.sub(r"^```.*?^```", "", after, flags=re.M | re.S))
    files = [re.sub(r"^https://host/owner/name/(blob|raw)/v1/|#.*", "", link) for _, link in links]
    assert [file for file in files if not file.startswith("https:") and not (ROOT / file).exists()] == []
    assert [link for image, link in links if ("/raw/" in link) != bool(image)] == []
    assert all(example.source in after for example in documents.examples(ROOT / "README.md"))
    assert len(files) > 20
    settings = published["with_urls"]((ROOT / "pyproject.toml").read_text(encoding="utf-8"), *where)
    assert re.findall(r"^\[project\.urls\]\nRepository = .*", settings, re.M) == [
        '[project.urls]\nRepository = "https://host/owner/name"'
    ]


def test_the_drawing_of_the_core_is_that_of_its_source():
    drawn = runpy.run_path(str(ROOT / "docs" / "drawing.py"))
    assert drawn["DRAWING"].read_text(encoding="utf-8") == drawn["drawing"](), "draw it anew: python docs/drawing.py"
    assert len(drawn["arrows"](drawn["uses"](drawn["purposes"]()))) >= len(drawn["purposes"]()) - 1


def test_the_site_and_the_list_of_pages_have_every_page():
    """`make docs` refuses a page that no list of conf.py has."""
    conf = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in DOCUMENTS[1:]]
    assert [page for page in pages if f'"{page}"' not in conf] == []
    assert [page for page in pages if f"]({page}.md)" not in index and "/" not in page and page != "index"] == []
