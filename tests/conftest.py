"""What tests share: where the public data lies, and how hypothesis runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Numba compiles on the first call, which no deadline survives; and
# the same cases in every run: what passed here passes there; HYPOTHESIS_PROFILE=search looks for new ones
settings.register_profile("shoal", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "shoal"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of public data; tests that need it are skipped where it is absent."""
    default = Path(__file__).parent.parent.parent / "shared" / "data"
    folder = Path(os.environ.get("SHOAL_SHARED", default))
    if not folder.is_dir():
        pytest.skip("the shared data is not here; name its folder in SHOAL_SHARED")
    return folder
