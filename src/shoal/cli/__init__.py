"""The command line: parse, call one public function, print."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Sequence

__all__ = ["main"]

GARBAGE = 100_000
"""New objects between two looks for garbage: libraries that load make many, and hardly any of it."""

FREED = ("_RJEM_MALLOC_CONF", "background_thread:true,dirty_decay_ms:50,muzzy_decay_ms:0")
"""What Polars frees goes back to the system soon, also while others work and nothing is short of memory."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command `shoal`; the only way out is an exit code."""
    if arguments is None:
        gc.set_threshold(GARBAGE)
        os.environ.setdefault(*FREED)
    if arguments is None and not sys.warnoptions:
        warnings.simplefilter("ignore")  # those of other libraries: they may quote cells
    from shoal.cli.app import COMMANDS, app_of
    from shoal.cli.guard import guarded
    from shoal.cli.stopping import listen
    from shoal.cli.terminal import keep_for_us, prepare

    if arguments is None:
        keep_for_us()
    prepare()
    words = sys.argv[1:] if arguments is None else list(arguments)
    app = app_of(words[:1] if words and words[0] in COMMANDS else COMMANDS)
    # Rich's help loads Markdown and lexers; the first page must come at once
    app.rich_markup_mode = None if words in ([], ["--help"]) else "rich"
    if arguments is None:
        listen()
    sys.exit(guarded(app, words))
