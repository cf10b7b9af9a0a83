from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from this checkout and unpack it, as pip would install it."""
    out = tmp_path_factory.mktemp("wheel")
    words = [
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--wheel-dir",
        str(out),
        str(ROOT),
    ]
    subprocess.run([sys.executable, "-m", *words], check=True, capture_output=True)
    site = out / "site"
    zipfile.ZipFile(next(out.glob("*.whl"))).extractall(site)
    return site


def test_the_wheel_alone_runs_the_demo(wheel: Path, tmp_path: Path) -> None:
    """`pip install lmmscore` carries the protocols, the drawn benchmark and everything the demo needs."""
    environment = {**os.environ, "PYTHONPATH": str(wheel)}
    code = "import lmmscore, sys; assert 'site' in lmmscore.__file__; from lmmscore.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "demo", "--out", str(tmp_path / "demo")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "CleanEdit" in done.stdout
    assert (tmp_path / "demo" / "report.html").is_file()


def test_the_wheel_carries_its_data(wheel: Path) -> None:
    """Dialogs, media and published figures are inside the package; tests and results are not."""
    package = wheel / "lmmscore"
    assert (package / "py.typed").is_file()
    assert len(list((package / "_data" / "dialogs").glob("*.yaml"))) == len(
        list((ROOT / "dialogs").glob("*.yaml"))
    )
    assert (package / "_data" / "media" / "demo" / "benchmark.yaml").is_file()
    assert (package / "_data" / "published" / "editeval_v1.csv").is_file()
    assert not (wheel / "tests").exists()
