"""SIGKILL at random moments of whole runs: the target is absent, old, or complete and verifying."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

import shoal

MOMENTS = int(os.environ.get("SHOAL_MOMENTS", "50"))


@pytest.mark.slow
def test_kill_at_random_moments_of_a_longer_run(tmp_path):
    rng = random.Random(0)
    rows = [
        f"{rng.randrange(18, 90)},{rng.randrange(10000, 10400)},{rng.choice('mf')},{i % 7}"
        for i in range(3000)
    ]
    (tmp_path / "in.csv").write_text("age,zip,sex,ill\n" + "\n".join(rows) + "\n")
    target, certificate = tmp_path / "out.csv", tmp_path / "out.certificate.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def start(seed: int) -> subprocess.Popen[bytes]:
        words = ["anonymize", "in.csv", "-q", "age,zip,sex", "-s", "ill", "-o", "out.csv", "-k", "5"]
        words += ["--method", "mondrian", "--seed", str(seed)]
        code = "import sys; from shoal.cli import main; main(sys.argv[1:])"
        return subprocess.Popen(
            [sys.executable, "-c", code, *words], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL
        )

    assert start(0).wait() == 0  # compiles the kernels
    begin = time.perf_counter()
    assert start(0).wait() == 0
    whole = time.perf_counter() - begin
    killed = 0
    for moment in range(MOMENTS):
        if moment % 3 == 0:  # a third of the runs find no older release
            for path in (target, certificate, tmp_path / "out.receipt.json"):
                path.unlink(missing_ok=True)
        before = target.read_bytes() if target.exists() else None
        child = start(moment)
        # the second half of a run is where files are written: look there more often
        time.sleep(whole * (rng.uniform(0, 1.05) if moment % 2 else rng.uniform(0.6, 1.05)))
        child.send_signal(signal.SIGKILL)
        killed += child.wait() == -signal.SIGKILL
        if target.exists():
            findings = shoal.verify(target, certificate)
            assert all(finding.holds is not False for finding in findings), f"moment {moment}"
        else:
            assert before is None
    assert killed > MOMENTS // 4
    assert start(0).wait() == 0
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["in.csv", "out.certificate.json", "out.csv", "out.receipt.json"]
