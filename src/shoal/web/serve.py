"""Start the workbench: a private folder, a socket of this machine alone, a link for one use."""

from __future__ import annotations

import asyncio
import os
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic

import uvicorn

import shoal
from shoal.web.app import Bench
from shoal.web.folder import private_folder
from shoal.web.guard import Guard
from shoal.web.hand import DONE
from shoal.web.session import Session

__all__ = ["serve"]

IDLE, LOOK = 30 * 60.0, 15.0
"""Seconds without a request after which the workbench closes, and between two looks."""
ENTRANCE = '<!doctype html><title>Shoal</title><meta http-equiv="refresh" content="0;url={}">'


def serve(
    file: Path | None = None,
    *,
    plan: Path | None = None,
    port: int = 0,
    browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the pages until somebody stops it, or nobody has asked for half an hour."""
    try:
        with private_folder() as folder:
            asyncio.run(_serve(folder, file, plan, port, browser, say))
    except BaseException as stop:
        if not isinstance(stop, Exception):  # Ctrl-C and other signals
            stop.add_note("The workbench is closed, and its copy of the table is removed.")
        raise


async def _serve(
    folder: Path, file: Path | None, plan: Path | None, port: int, browser: bool, say: Callable[[str], None]
) -> None:
    session = Session(folder)
    try:
        if file is not None:
            job = await session.open(file.resolve(), file.name, None if plan is None else plan.resolve())
            if job.state != DONE:
                raise shoal.DataError(job.words, field=job.at, column=job.column)
        with _socket(port) as listener:
            guard = Guard(Bench(session).app, port=listener.getsockname()[1])
            server = uvicorn.Server(
                uvicorn.Config(
                    guard,
                    log_level="critical",
                    access_log=False,
                    server_header=False,
                    ws="none",
                    lifespan="off",
                    timeout_graceful_shutdown=1,
                )
            )
            say(
                f"The workbench is open at this link, which works once and in one browser:\n{guard.address}"
            )
            if browser:
                _open_browser(folder, guard.address)
            watch = asyncio.create_task(_watch(server, guard, session))
            try:
                await server.serve(sockets=[listener])
            finally:
                watch.cancel()
    finally:
        await session.hand.close()


def _socket(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise shoal.DataError(
            f"Port {port} cannot be used: {reason}. Leave the port out to get a free one."
        ) from None


def _open_browser(folder: Path, address: str) -> None:
    """Show the page: the link stands in a file of ours, since others see the arguments of processes."""
    entrance = folder / "open.html"
    handle = os.open(entrance, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with open(handle, "w", encoding="utf-8") as page:
        page.write(ENTRANCE.format(address))
    with suppress(webbrowser.Error):
        webbrowser.open(entrance.as_uri())


async def _watch(server: uvicorn.Server, guard: Guard, session: Session) -> None:
    while session.running is not None or monotonic() - guard.asked < IDLE:
        await asyncio.sleep(LOOK)
    server.should_exit = True
