"""The second Python of a first run: it compiles, and its failure changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shoal.kernels.compile import warm


@pytest.fixture
def cold(monkeypatch):
    monkeypatch.setattr(warm, "_is_cold", lambda: True)
    monkeypatch.setattr(warm.os, "cpu_count", lambda: 2)
    yield
    warm.wait()


def test_the_second_python_leaves_the_kernels_in_the_cache(tmp_path):
    again = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-P", "-m", "shoal.kernels.compile.warm"], env=again, check=True)
    kept = {path.name.split("-")[0] for path in tmp_path.rglob("*.nbi")}
    assert {"rebuild._rebuild", "state._fill", "approximate._compare", "shares._grow"} <= kept


def test_one_second_python_is_started_and_waited_for(cold):
    warm.begin()
    warm.begin()
    (first,) = warm._helpers
    first.kill()  # as if it had failed
    warm.wait()
    assert first.returncode is not None
    assert not warm._helpers
    warm.wait()


def test_no_second_python_with_one_core_a_warm_cache_or_another_program(cold, monkeypatch):
    monkeypatch.setattr(warm.os, "cpu_count", lambda: 1)
    warm.begin()
    monkeypatch.setattr(warm.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(warm.sys, "executable", str(Path("somewhere") / "office"))
    warm.begin()
    monkeypatch.undo()
    monkeypatch.setattr(warm, "_is_cold", lambda: False)
    warm.begin()
    assert not warm._helpers
