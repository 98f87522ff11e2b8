"""`python -m shoal.cli`, for those without the command on their path."""

from __future__ import annotations

from shoal.cli import main

if __name__ == "__main__":
    main()
