"""The workbench as a process: its folder, its end, many requests at once, and what a crash leaves."""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
import stat
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")

import shoal
from shoal.cli.app import app_of
from shoal.web import folder as folders
from shoal.web import serve as serving

CSV = "name,age,illness\n" + "".join(f"zqn{row},{20 + row % 9},zqi{row % 3}\n" for row in range(40))


def ask(port, path, method="GET", headers=None):
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    line.request(method, path, headers=headers or {})
    got = line.getresponse()
    text = got.read().decode()
    line.close()
    return got.status, text, got


def enter(served):
    """The secret path and the cookie that the link gives."""
    parts = urlsplit(served.address)
    status, _, got = ask(served.port, f"{parts.path}?{parts.query}")
    assert status == 303
    cookie = got.getheader("set-cookie").partition(";")[0]
    return got.getheader("location").removesuffix("start"), {"Cookie": cookie}


def test_served_to_one_browser_and_gone_at_the_end(serve, tmp_path):
    (tmp_path / "in.csv").write_text(CSV)
    served = serve(str(tmp_path / "in.csv"))
    path, cookie = enter(served)
    (folder,) = served.folders
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()} == {0o600}
    status, text, got = ask(served.port, f"{path}columns", headers=cookie)
    assert status == 200
    assert "in.csv · 40 rows" in text
    assert got.getheader("server") is None
    for what, expected in (
        (ask(served.port, f"{path}columns"), 403),
        (ask(served.port, "/"), 403),
        (ask(served.port, f"{path}columns", headers=cookie | {"Host": "evil.example"}), 421),
        (ask(served.port, f"{path}ask", "POST", cookie), 403),
        (ask(served.port, f"{path}../../etc/passwd", headers=cookie), 404),
        (ask(served.port, urlsplit(served.address).path + "?" + urlsplit(served.address).query), 403),
    ):
        assert what[0] == expected
        assert "zq" not in what[1]
    with ThreadPoolExecutor(50) as pool:
        many = list(pool.map(lambda _: ask(served.port, f"{path}columns", headers=cookie)[0], range(200)))
    assert many == [200] * 200
    children = _children(served.process.pid)
    assert children
    assert served.stop() == 143
    assert served.folders == []
    assert "zq" not in (served.home / "said.txt").read_text()
    assert not [pid for pid in children if _is_alive(pid)]


def test_what_a_killed_workbench_left_is_swept_by_the_next(serve, tmp_path):
    (tmp_path / "in.csv").write_text(CSV)
    first = serve(str(tmp_path / "in.csv"))
    other = serve(home=first.home)
    children = _children(first.process.pid)
    first.stop(signal.SIGKILL)
    assert len(first.folders) == 2
    last = serve(home=first.home)
    assert len(first.folders) == 2  # that of the killed one is gone, that of the other is not
    for pid in children:
        _wait_for_end(pid)
    other.stop()
    last.stop(signal.SIGINT)
    assert first.folders == []


def _children(pid):
    listed = f"/proc/{pid}/task/{pid}/children"
    if not os.path.exists(listed):
        pytest.skip("this system does not tell a process's children")
    with open(listed) as file:
        return [int(one) for one in file.read().split()]


def _is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _wait_for_end(pid):
    handle = getattr(os, "pidfd_open", lambda _: None)
    try:
        watched = handle(pid)
    except ProcessLookupError:
        return
    import select

    ready, _, _ = select.select([watched], [], [], 30)
    os.close(watched)
    assert ready


def test_only_folders_of_nobody_alive_are_swept(tmp_path, monkeypatch):
    monkeypatch.setattr(folders.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(folders.tempfile, "tempdir", str(tmp_path))
    dead, young, aside = (tmp_path / f"shoal-workbench-{name}" for name in ("dead", "young", "aside"))
    for one in (dead, young):
        one.mkdir()
    (dead / "lock").touch()
    aside.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    with folders.private_folder() as held:
        assert not dead.exists()
        folders.sweep()
        assert held.exists()
        assert young.exists()
        os.utime(young, (0, 0))
        folders.sweep()
        assert not young.exists()
    assert not held.exists()
    assert (tmp_path / "elsewhere").exists()


def test_it_closes_when_nobody_asks(monkeypatch):
    monkeypatch.setattr(serving, "LOOK", 0.0)
    server, guard = SimpleNamespace(should_exit=False), SimpleNamespace(asked=serving.monotonic())
    session = SimpleNamespace(running=None)

    async def watched():
        task = asyncio.create_task(serving._watch(server, guard, session))
        await asyncio.sleep(0.01)
        assert not server.should_exit
        guard.asked -= serving.IDLE + 1
        session.running = "something"
        await asyncio.sleep(0.01)
        assert not server.should_exit
        session.running = None
        await task

    asyncio.run(watched())
    assert server.should_exit


def test_the_browser_is_shown_a_private_file_and_no_link_in_an_argument(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(serving.webbrowser, "open", shown.append)
    serving._open_browser(tmp_path, "http://127.0.0.1:1/open?link=secret")
    assert shown == [(tmp_path / "open.html").as_uri()]
    assert "link=secret" in (tmp_path / "open.html").read_text()
    assert stat.S_IMODE((tmp_path / "open.html").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nix.csv"], "There is no"),
        (["bad.csv"], "is empty"),
        (["in.csv", "--plan", "nix.yaml"], "no plan file"),
        (["--plan", "plan.yaml"], "without its table"),
    ],
)
def test_a_wrong_start_is_told_and_leaves_nothing(words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(folders.tempfile, "tempdir", str(tmp_path))
    (tmp_path / "in.csv").write_text(CSV)
    (tmp_path / "bad.csv").touch()
    done = CliRunner().invoke(app_of(), ["workbench", "--no-browser", *words])
    assert isinstance(done.exception, shoal.ShoalError)
    assert told in str(done.exception)
    assert not list(tmp_path.glob("shoal-workbench-*"))


def test_without_the_extra_the_user_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "shoal.web.serve", None)
    done = CliRunner().invoke(app_of(), ["workbench"])
    assert isinstance(done.exception, ModuleNotFoundError)  # of ours, so not taken for a missing part
    monkeypatch.delitem(__import__("sys").modules, "shoal.web.serve")
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    done = CliRunner().invoke(app_of(), ["workbench"])
    assert isinstance(done.exception, shoal.MissingExtra)
    assert "pip install 'shoal[web]'" in str(done.exception)


def test_a_port_in_use_is_told():
    with serving._socket(0) as taken, pytest.raises(shoal.DataError, match="cannot be used"):
        serving._socket(taken.getsockname()[1])
