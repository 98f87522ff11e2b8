"""Who may speak to the workbench: a table of requests, each with its answer."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest

from shoal.web.guard import HEADERS, Guard

PORT = 8123
HOST = f"127.0.0.1:{PORT}"
OURS = {"host": HOST, "origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}


async def inside(scope, receive, send):
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"x-path", scope["path"].encode())]}
    )
    await send({"type": "http.response.body", "body": b"inside"})


def ask(guard, path, headers, method="GET"):
    """The status, the headers and the body that a raw request gets."""
    said = []

    async def send(message):
        said.append(message)

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    where, _, query = path.partition("?")
    pairs = headers if isinstance(headers, list) else list(headers.items())
    scope = {
        "type": "http",
        "method": method,
        "path": where,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in pairs],
    }
    asyncio.run(guard(scope, receive, send))
    heads = dict(said[0]["headers"])
    return said[0]["status"], heads, said[1]["body"]


def opened():
    """A guard whose link was used: its secret path and cookie."""
    guard = Guard(inside, port=PORT)
    parts = urlsplit(guard.address)
    status, heads, _ = ask(guard, f"/open?{parts.query}", {"host": HOST})
    assert status == 303
    cookie = heads[b"set-cookie"].decode()
    return guard, heads[b"location"].decode().removesuffix("start"), cookie


def held(cookie):
    return cookie.partition(";")[0]


def test_the_link_gives_a_cookie_for_a_secret_path_once():
    guard, path, cookie = opened()
    assert f"Path={path}" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert len(path) > 40
    status, heads, body = ask(guard, path, {"host": HOST, "cookie": held(cookie)})
    assert (status, body, heads[b"x-path"]) == (200, b"inside", b"/")
    again = ask(guard, f"/open?{urlsplit(guard.address).query}", {"host": HOST})
    assert again[0] == 403
    assert b"set-cookie" not in again[1]


CASES = {
    "our form": ("POST", OURS, 200),
    "our page": ("GET", {"host": HOST}, 200),
    "localhost": ("GET", {"host": f"localhost:{PORT}"}, 200),
    "a form of localhost": (
        "POST",
        OURS | {"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"},
        200,
    ),
    "foreign host": ("GET", {"host": "evil.example"}, 421),
    "foreign host with our port": ("GET", {"host": f"evil.example:{PORT}"}, 421),
    "look-alike host": ("GET", {"host": f"localhost.evil.example:{PORT}"}, 421),
    "look-alike address": ("GET", {"host": f"127.0.0.1.evil.example:{PORT}"}, 421),
    "another port": ("GET", {"host": "127.0.0.1:80"}, 421),
    "no port": ("GET", {"host": "127.0.0.1"}, 421),
    "no host": ("GET", {}, 421),
    "two hosts": ("GET", [("host", HOST), ("host", "evil.example")], 421),
    "form of a foreign origin": ("POST", OURS | {"origin": "http://evil.example"}, 403),
    "form of no origin": ("POST", {"host": HOST}, 403),
    "form of the origin null": ("POST", OURS | {"origin": "null"}, 403),
    "form of a look-alike origin": ("POST", OURS | {"origin": f"http://{HOST}.evil.example"}, 403),
    "form over https": ("POST", OURS | {"origin": f"https://{HOST}"}, 403),
    "form of another site": ("POST", OURS | {"sec-fetch-site": "cross-site"}, 403),
    "form of another port": ("POST", OURS | {"sec-fetch-site": "same-site"}, 403),
    "upload of a foreign origin": ("PUT", OURS | {"origin": "http://evil.example"}, 403),
    "upload of no origin": ("PUT", {"host": HOST}, 403),
    "page for a foreign origin": ("GET", {"host": HOST, "origin": "http://evil.example"}, 403),
    "options of a foreign origin": ("OPTIONS", {"host": HOST, "origin": "http://evil.example"}, 403),
}


@pytest.mark.parametrize(("method", "headers", "status"), CASES.values(), ids=CASES)
def test_every_request_has_its_answer(method, headers, status):
    guard, path, cookie = opened()
    pairs = headers if isinstance(headers, list) else list(headers.items())
    got, heads, body = ask(guard, path + "x", [*pairs, ("cookie", held(cookie))], method)
    assert got == status
    assert (body == b"inside") == (status == 200)
    for name, value in HEADERS:
        assert heads[name] == value
    assert not [name for name in heads if name.startswith(b"access-control")]


WITHOUT = {
    "no cookie": lambda path, cookie: (path, ""),
    "another cookie": lambda path, cookie: (path, "shoal=guess"),
    "a cookie of another name": lambda path, cookie: (path, held(cookie).replace("shoal", "shoul")),
    "an odd cookie": lambda path, cookie: (path, "shoal=ü\xff; ;=;"),
    "another path": lambda path, cookie: ("/" + "x" * 43 + "/", held(cookie)),
    "no path": lambda path, cookie: ("/", held(cookie)),
    "the path alone": lambda path, cookie: (path.rstrip("/"), held(cookie)),
    "the way back": lambda path, cookie: ("/static/../columns", held(cookie)),
    "another link": lambda path, cookie: ("/open?link=guess", held(cookie)),
    "no link": lambda path, cookie: ("/open", held(cookie)),
}


@pytest.mark.parametrize("ways", WITHOUT.values(), ids=WITHOUT)
def test_without_path_and_cookie_nothing_is_shown(ways):
    guard, path, cookie = opened()
    where, given = ways(path, cookie)
    status, _, body = ask(guard, where, {"host": HOST, "cookie": given})
    assert status == 403
    assert path.strip("/").encode() not in body
    assert held(cookie).encode() not in body


def test_an_unused_link_cannot_be_guessed_or_posted():
    guard = Guard(inside, port=PORT)
    query = urlsplit(guard.address).query
    assert ask(guard, f"/open?{query[:-1]}", {"host": HOST})[0] == 403
    assert ask(guard, f"/open?{query}", OURS, "POST")[0] == 403
    assert ask(guard, f"/open?{query}", {"host": "evil.example"})[0] == 421
    assert ask(guard, f"/open?{query}", {"host": HOST})[0] == 303


def test_web_sockets_get_no_answer():
    said = []
    asyncio.run(Guard(inside, port=PORT)({"type": "websocket"}, None, said.append))
    assert said == []


def test_the_policy_lets_nothing_in_from_elsewhere():
    policy = dict(HEADERS)[b"content-security-policy"].decode()
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "*" not in policy
    assert "data:" not in policy
