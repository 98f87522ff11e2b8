"""Who may speak to the workbench: the one browser that was given the link, and no page of another origin.

Cookies know no ports: another user's server on this machine would be sent ours. So every page lies under a
secret path, and the cookie is sent to that path alone. A foreign name for this machine (DNS rebinding) is
told by its Host, a foreign page by its Origin.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from time import monotonic
from typing import Any
from urllib.parse import parse_qs

__all__ = ["HEADERS", "Guard"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    # no-referrer would make browsers send "Origin: null" with forms
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
READS = ("GET", "HEAD")
COOKIE = "shoal"
START = "/start"
"""Where the link leads."""
BITS = 32

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class Guard:
    """Host, origin, link and cookie are looked at before any page; our headers are on every answer."""

    def __init__(self, app: App, *, port: int) -> None:
        self._app = app
        self._link = secrets.token_urlsafe(BITS)
        self._path = "/" + secrets.token_urlsafe(BITS)
        self._cookie = secrets.token_urlsafe(BITS)
        self._hosts = tuple(f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost"))
        self._origins = tuple(b"http://" + host for host in self._hosts)
        self._is_used = False
        self.address = f"http://127.0.0.1:{port}/open?link={self._link}"
        self.asked = monotonic()
        """When somebody last asked who may."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":  # no web sockets; nothing starts or ends with the server
            return
        given = _single(scope["headers"])
        status, words = self._refusal(scope, given)
        if status:
            await _refuse(send, status, words)
            return
        if scope["path"] == "/open":
            await self._let_in(scope, send)
            return
        held = _cookie_of(given.get(b"cookie", b"").decode("latin-1"))
        if not scope["path"].startswith(self._path + "/") or not _same(held, self._cookie):
            await _refuse(send, 403, "This browser was not given the link that shoal workbench printed.")
            return
        self.asked = monotonic()

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        inside = scope["path"].removeprefix(self._path)
        await self._app({**scope, "path": inside, "raw_path": None, "base": self._path}, receive, answer)

    def _refusal(self, scope: Message, given: dict[bytes, bytes]) -> tuple[int, str]:
        """Why a request is refused whoever asks; 0 where it is not."""
        if given.get(b"host") not in self._hosts:
            return 421, "This address is not the workbench's."
        reads = scope["method"] in READS
        origin = given.get(b"origin")
        site = given.get(b"sec-fetch-site", b"same-origin")
        is_ours = origin in self._origins or (reads and origin is None)
        if not is_ours or (not reads and site != b"same-origin"):
            return 403, "Another page asked. Nothing was done."
        return 0, ""

    async def _let_in(self, scope: Message, send: Send) -> None:
        """Give the cookie to whoever has the link, once."""
        token = parse_qs(scope["query_string"].decode("latin-1")).get("link", [""])[0]
        if scope["method"] != "GET" or self._is_used or not _same(token, self._link):
            words = "This link was used already, or is of another run. Start shoal workbench again."
            await _refuse(send, 403, words)
            return
        self._is_used = True
        self.asked = monotonic()
        cookie = f"{COOKIE}={self._cookie}; Path={self._path}/; HttpOnly; SameSite=Strict"
        where = [(b"location", f"{self._path}{START}".encode()), (b"set-cookie", cookie.encode())]
        await send({"type": "http.response.start", "status": 303, "headers": [*HEADERS, *where]})
        await send({"type": "http.response.body", "body": b""})


def _single(headers: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Headers by name; one that stands twice is none of ours, whatever it says."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        found[name] = b"\0" if name in found and name != b"cookie" else value
    return found


def _same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _cookie_of(text: str) -> str:
    pairs = (part.strip().partition("=") for part in text.split(";"))
    return next((value for name, _, value in pairs if name == COOKIE), "")


async def _refuse(send: Send, status: int, words: str) -> None:
    head = [*HEADERS, (b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": words.encode()})
