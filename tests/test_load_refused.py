"""Files that `load` refuses: each with its name and a reason, and all that the reference reader refuses among them."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import random
import re
import struct
import zipfile
from pathlib import Path

import classes
import numpy as np
import pytest
from tensor_files import content, entry, spoiled

import clika_pytree as cp

safetensors = pytest.importorskip("safetensors")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.safetensors"


def refused(path: Path, raw: bytes | None = None) -> str:
    """What is said of a file, behind its name."""
    if raw is not None:
        path.write_bytes(raw)
    with pytest.raises(cp.FileFormatError) as caught:
        cp.load(path)
    name, colon, text = str(caught.value).partition(": ")
    assert (name, colon) == (str(path), ": ")
    # A class that is not known here is none that a summary needs.
    if "class" not in text:
        with pytest.raises(cp.FileFormatError):
            cp.inspect(path)
    return text


A = entry(0, 3)
TEXT = json.dumps(A)
SMALL = content({"a": A, "b": entry(3, 11, "F32", [2])}, bytes(11))

BAD_HEADERS = {
    "a hole": ({"a": A, "b": entry(4, 7)}, 7, "'b' begins at byte 4 of the data and the tensor before it ends at 3"),
    "an overlap": ({"a": A, "b": entry(2, 5)}, 5, "an overlap"),
    "a rest": ({"a": A}, 4, "1 byte behind the last tensor"),
    "too few bytes": ({"a": A}, 2, r"the tensors take 3 bytes and it holds 2 \(1 missing\)"),
    "wrong size": (
        {"a": entry(0, 3, "F32", [1])},
        3,
        r"'a' is F32 \[1\] and takes 4 bytes, and its offsets are 0 and 3",
    ),
    "backwards": ({"a": entry(3, 0)}, 3, "a whole number"),
    "an unknown dtype": ({"a": entry(0, 3, "C128", [3])}, 3, "'C128', which the format does not have"),
    "half a byte": ({"a": entry(0, 2, "F4", [3])}, 2, "no number of bytes"),
    "too many elements": ({"a": entry(0, 0, "U8", [2**63, 2**63, 0])}, 0, "no number of bytes"),
    "a float": ({"a": {**A, "shape": [3.0]}}, 3, "a whole number"),
    "a negative size": ({"a": {**A, "shape": [-3]}}, 3, "a whole number"),
    "another member": ({"a": {**A, "strides": [1]}}, 3, "'strides' that no tensor has"),
    "no dtype": ({"a": {"shape": [3], "data_offsets": [0, 3]}}, 3, "lacks"),
    "three offsets": ({"a": {**A, "data_offsets": [0, 1, 3]}}, 3, "3 data_offsets"),
    "metadata of numbers": ({"__metadata__": {"a": 1}}, 0, "a text in quotes"),
    "a list": ("[]", 0, "'{' should be at byte 0"),
    "a name twice": (f'{{"a":{TEXT},"a":{TEXT}}}', 3, "names 'a' twice"),
    "the same name in other letters": ('{"a":' + TEXT + ',"\\u0061":' + TEXT + "}", 3, "twice"),
    "metadata twice": ('{"__metadata__":{},"__metadata__":{}}', 0, "twice"),
    "a shape twice": ('{"a":{"dtype":"U8","shape":[3],"shape":[3],"data_offsets":[0,3]}}', 3, "shape twice"),
    "a space before": (f' {{"a":{TEXT}}}', 3, "'{' should be at byte 0"),
    "text behind": (f'{{"a":{TEXT}}}x', 3, "its end should be"),
    "a comma too many": (f'{{"a":{TEXT},}}', 3, "a text in quotes"),
    "half a surrogate pair": ('{"\\ud800":' + TEXT + "}", 3, "an escape that is none"),
    "no text": (b'{"\xff":1}', 0, "no UTF-8"),
    "deep": ("{" + '"a":[' * 100_000, 0, "'{' should be at byte"),
}


@pytest.mark.parametrize(("header", "size", "words"), BAD_HEADERS.values(), ids=BAD_HEADERS.keys())
def test_a_header_that_does_not_add_up(header, size, words, path):
    assert re.search(words, refused(path, content(header, bytes(size))))


def test_every_cut_of_a_file_is_refused(path):
    path.write_bytes(SMALL)
    assert len(cp.load(path)) == 2
    for length in range(len(SMALL)):
        text = refused(path, SMALL[:length])
        assert "cut short" in text or (length == 0 and text == "it is empty")
    assert "(3 missing)" in refused(path, SMALL[:-3])


def zipped() -> bytes:
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a", "b")
        return file.getvalue()


def npy() -> bytes:
    with io.BytesIO() as file:
        np.save(file, np.ones(3))
        return file.getvalue()


FOREIGN = {
    "a zip archive": zipped(),
    "a pickle": pickle.dumps({"a": list(range(1000))}, protocol=4),
    "an old PyTorch checkpoint": pickle.dumps({"a": 1}, protocol=2),
    "GGUF": b"GGUF" + bytes(100),
    "HDF5": b"\x89HDF\r\n\x1a\n" + bytes(100),
    ".npy": npy(),
    "Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "HTML": b"<!DOCTYPE html><html><body>Not found</body></html>",
    "gzip": gzip.compress(b"a" * 100),
    "JSON": json.dumps({"weight_map": {}}).encode(),
}


@pytest.mark.parametrize(("kind", "raw"), FOREIGN.items(), ids=FOREIGN.keys())
def test_files_of_other_kinds_are_recognised(kind, raw, path):
    text = refused(path, raw)
    assert text.startswith("it is no safetensors file: it looks like")
    assert kind in text


def test_a_header_may_be_no_longer_than_other_readers_take(path):
    text = refused(path, struct.pack("<Q", 100_000_001) + b"{}")
    assert "100000001 bytes" in text
    name = "x" * 100_000_000
    with pytest.raises(cp.PyTreeValueError, match="readers of the format refuse more"):
        cp.save({name: np.ones(1)}, path)


def test_headers_that_a_reader_wrote_otherwise_are_taken(path):
    path.write_bytes(content('{ "a" : {"data_offsets" :[0,3],\n"shape":[ 3 ],"dtype":"U8"} }  \n ', b"abc"))
    assert cp.load(path)["a"].tobytes() == b"abc"


def test_never_is_a_file_taken_that_the_reference_refuses(path):
    """The long run of this is `tests/run_fuzz.py files`."""
    draw = random.Random(7)
    taken = 0
    for _ in range(3000):
        raw = spoiled(SMALL, draw)
        path.write_bytes(raw)
        try:
            ours = cp.load(path)
        except cp.FileFormatError:
            continue
        taken += 1
        theirs = {name: tensor["data"] for name, tensor in safetensors.deserialize(raw)}
        assert {name: array.tobytes() for name, array in ours.items()} == {n: bytes(d) for n, d in theirs.items()}
    assert taken > 100


# --- not there --------------------------------------------------------------------------------------------------------


def test_what_can_not_be_opened_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        cp.load(tmp_path / "nothing")
    assert caught.value.filename == str(tmp_path / "nothing")
    with pytest.raises(cp.FileFormatError, match="the folder has no file of tensors"):
        cp.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert refused(tmp_path / "pipe") == "it is no regular file"


@pytest.mark.parametrize("path", [3.5, None, ["a"], ""])
def test_a_path_is_a_path(path):
    for function in (cp.load, cp.inspect, lambda path: cp.save({}, path)):
        with pytest.raises((cp.PyTreeTypeError, cp.PyTreeValueError), match="expects a path"):
            function(path)


# --- what a file says of its tree -------------------------------------------------------------------------------------


def forged(path: Path, change) -> str:
    """The refusal of a file whose document was changed."""
    cp.save({"a": [np.ones(1), None], "b": classes.Point(np.ones(1), 1), "c": {"d": np.ones(1)}}, path)
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    document = json.loads(header["__metadata__"]["clika_pytree"])
    document = change(document) or document
    text = document if isinstance(document, str) else json.dumps(document)
    header["__metadata__"]["clika_pytree"] = text
    return refused(path, content(header, raw[8 + length :]))


def set_members(**members):
    return lambda document: document.update(members)


def node(number, item):
    return lambda document: document["structure"]["nodes"].__setitem__(number, item)


FORGED = {
    "no JSON": (lambda document: "{", "damaged"),
    "another type": (lambda document: "[]", "it has no version"),
    "no version": (set_members(version="1"), "it has no version"),
    "a newer version": (set_members(version=2), "newer clika_pytree"),
    "another kind": (set_members(kind="list"), "damaged"),
    "another member": (set_members(more=1), "its members should be"),
    "no structure": (set_members(structure=None), "can't be rebuilt"),
    "a leaf that is not there": (set_members(values=[[99, [None]]]), "a leaf that its structure has not"),
    "a tensor as a value": (set_members(values=[[1, [None]], [0, [1]], [3, [1]]]), "has no place in its tree"),
    "a value as a tensor": (set_members(values=[[1, [None]]]), "is not there"),
    "a value twice": (set_members(values=[[1, [None]], [1, [None]]]), "twice"),
    "a value that is a tree": (set_members(values=[[1, [{"list": 0}]], [3, [1]]]), "a leaf can't be a list"),
    "a tie to itself": (set_members(ties=[[0, 0]]), "a tie does not lead"),
    "a tie to a value": (set_members(ties=[[4, 1]]), "a tie does not lead"),
    "a tie forward": (set_members(ties=[[0, 4]]), "a tie does not lead"),
    "a tie too many": (set_members(ties=[[4, 0]]), "has no place in its tree"),
    "ties of texts": (set_members(ties=[["a", "b"]]), "should be a number"),
    "another name": (node(0, {"dict": ["a", "b", "x"]}), "is not there"),
    "more leaves": (node(2, "*" * 1000), "damaged|can't be rebuilt"),
    "endless leaves": (node(1, {"list": 4294967295}), "damaged|can't be rebuilt"),
    "a class of another field": (
        node(3, {"namedtuple": "Point", "module": "classes", "fields": ["x", "z"]}),
        "is not there|can't be rebuilt",
    ),
    "a class that is none": (
        node(3, {"namedtuple": "system", "module": "os", "fields": ["x", "y"]}),
        "can't be rebuilt.*has a namedtuple class.*unknown",
    ),
}


@pytest.mark.parametrize(("change", "words"), FORGED.values(), ids=FORGED.keys())
def test_a_document_that_does_not_fit_is_refused(change, words, path):
    assert re.search(words, forged(path, change))
