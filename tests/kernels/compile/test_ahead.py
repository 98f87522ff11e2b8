"""The other Pythons of a first run: they compile, and their failure changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shoal.kernels.compile import ahead
from shoal.kernels.rules.trade import trade_records

IMPROVE, RULES = "shoal.kernels.improve.first_run", "shoal.group.rules.ahead"
KEPT = {
    IMPROVE: {"rebuild._rebuild", "local_search._sweep", "state._fill", "approximate._compare"},
    RULES: {"chains._chain_inplace", "enforce.enforce_rules", "trade.trade_records"},
}
"""What each leaves in the cache, the last one last needed."""


@pytest.fixture
def cold(monkeypatch):
    monkeypatch.setattr(ahead, "_is_cold", lambda last: True)
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: 2)
    yield
    for module in KEPT:
        ahead.wait(module)


@pytest.mark.parametrize("module", KEPT)
def test_another_python_leaves_the_kernels_in_the_cache(module, tmp_path):
    again = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-P", "-m", module], env=again, check=True)
    kept = {path.name.split("-")[0] for path in tmp_path.rglob("*.nbi")}
    assert KEPT[module] <= kept


def test_what_they_compile_is_what_a_release_needs(tmp_path):
    """After both, a release with rules adds no second version of their kernels."""
    again = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for module in KEPT:
        subprocess.run([sys.executable, "-P", "-m", module], env=again, check=True)
    before = _versions(tmp_path)
    code = (
        "import polars as pl, shoal\n"
        "ill = ['flu', 'cold', 'none'] * 40\n"
        "table = pl.DataFrame({'age': range(120), 'ill': ill, 'who': [n // 2 for n in range(120)]})\n"
        "shoal.anonymize(table, k=4, quasi=['age'], sensitive=['ill'], identifier=['who'], unit='who',\n"
        "                rules=['ill: 2-diverse'], method='crowd')\n"
    )
    subprocess.run([sys.executable, "-c", code], env=again, check=True)
    after = _versions(tmp_path)
    assert {name: after[name] for name in before} == before


def _versions(folder):
    names = [path.name.split("-")[0] for path in folder.rglob("*.nbc")]
    return {name: names.count(name) for name in names}


def test_each_is_started_once_and_waited_for(cold):
    assert ahead.begin(IMPROVE, trade_records)
    first = ahead._helpers[IMPROVE]
    assert ahead.begin(IMPROVE, trade_records)
    assert ahead._helpers[IMPROVE] is first
    assert ahead.begin(RULES, trade_records)
    first.kill()  # as if it had failed
    first.wait()
    assert not ahead.begin(IMPROVE, trade_records)
    ahead.wait(IMPROVE)
    assert first.returncode is not None
    assert list(ahead._helpers) == [RULES]
    ahead._helpers[RULES].kill()
    ahead.wait(RULES)
    ahead.wait(RULES)
    assert not ahead._helpers


def test_none_with_one_core_kernels_that_are_kept_or_another_program(cold, monkeypatch):
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: 1)
    assert not ahead.begin(RULES, trade_records)
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(ahead.sys, "executable", str(Path("somewhere") / "office"))
    assert not ahead.begin(RULES, trade_records)
    monkeypatch.undo()
    monkeypatch.setattr(ahead, "_is_cold", lambda last: False)
    assert not ahead.begin(RULES, trade_records)
    assert not ahead._helpers
