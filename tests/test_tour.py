"""examples/tour.py as a user runs it: a program of its own, whose exit code says whether its claims hold."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from real_model import fetch
from safetensors.numpy import save_file

ROOT = Path(__file__).parents[1]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "tour.py"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)


def rows(output: str) -> dict[str, str]:
    """The printed lines by their step, without times and without the lines that go on below a step."""
    found = (re.match(r"(\w+(?: two)?)  +(.*?)(?:  +[\d.]+ ms)?$", line) for line in output.splitlines())
    return {match[1]: match[2] for match in found if match}


def succeed(folder: Path, *arguments: str) -> dict[str, str]:
    done = run(folder, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Everything said above was checked.\n")
    assert max(map(len, done.stdout.splitlines())) <= 80
    return rows(done.stdout)


def test_without_a_file(tmp_path):
    steps = succeed(tmp_path)
    assert steps["weights"].startswith("a stand-in")
    assert steps["nest"].endswith(": wte, wpe, h, ln_f")
    assert steps["flatten"].startswith("148 leaves and a spec of 261 nodes")
    assert "497,759,232 in all" in steps["map"]
    assert steps["reduce"].endswith("138.564"), "25 layer norms of 768 gains of 1"
    assert steps["class"].startswith("73 pairs")
    assert int(steps["save"].split()[0].replace(",", "")) > 497_759_232
    assert steps["load"] == "the same tree, its file mapped"


@pytest.fixture
def small(tmp_path):
    names = ["emb.weight", "layers.0.fc.weight", "layers.0.fc.bias", "layers.1.fc.weight", "layers.1.fc.bias", "scale"]
    path = tmp_path / "small.safetensors"
    save_file({name: np.full((3, 1), 2.0, np.float32) for name in names}, path)
    return path


def test_a_small_file(small):
    done = run(small.parent, small.name)
    assert done.returncode == 0, done.stderr
    steps = rows(done.stdout)
    assert steps["flatten"].startswith("6 leaves and a spec of 13 nodes")
    assert "TreeSpec({'emb': {'weight': *}, 'layers': [{'fc': {'bias': *, " in done.stdout
    assert steps["class"].startswith("2 pairs")
    assert "source 'small.safetensors'" in steps["dataclass"]
    assert re.search(r"^ +StructureError: ", done.stdout, re.M), "the error a user sees is shown"
    assert re.search(r"^\.weights\['layers'\]\[1\]\['fc'\]\.bias +1  tensor +\(3, 1\) ", done.stdout, re.M)


def test_types_that_numpy_lacks(tmp_path):
    """bfloat16 is read as the float32 of the same value; eight-bit floats stay bytes."""
    tensors = {
        "a": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]},
        "b": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [8, 10]},
    }
    header = json.dumps(tensors).encode()
    data = np.array([1, 2, 3, 4], "<f4").view("<u2")[1::2].tobytes() + b"\x01\x02"
    path = tmp_path / "low.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    steps = succeed(tmp_path, path.name)
    assert "18 in all" in steps["map"]
    assert steps["reduce"].endswith(f"{30**0.5:.3f}")


@pytest.mark.parametrize("content", [None, b"", b"no weights, " * 10])
def test_what_is_no_weights_file(tmp_path, content):
    if content is not None:
        (tmp_path / "x.safetensors").write_bytes(content)
    done = run(tmp_path, "x.safetensors")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("tour.py: error: cannot read x.safetensors: ")


@pytest.mark.real
@pytest.mark.timeout(900)
def test_a_real_model(tmp_path):
    path = fetch(ROOT / "build" / "real")
    steps = succeed(tmp_path, str(path))
    assert steps["nest"].startswith("104 dotted names")
    assert steps["nest"].endswith(": embeddings, encoder, pooler")
    assert steps["flatten"].startswith("104 leaves and a spec of 198 nodes")
    assert "90,856,960 in all, 46,881,792 in the largest" in steps["map"]
    assert steps["reduce"].endswith("280.367")
    assert steps["class"].startswith("50 pairs")
