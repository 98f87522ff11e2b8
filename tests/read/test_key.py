"""The key file: made for one user alone, and refused where anybody else might know it."""

from __future__ import annotations

import os
import stat
import threading

import pytest

from shoal.errors import DataError, PlanError
from shoal.model.plan import Plan
from shoal.model.pseudonym import Key
from shoal.publish.key import write_key
from shoal.read.key import read_key
from shoal.run.keys import key_of
from silent import said_by

PLAN = Plan(k=2, quasi=("age",), pseudonym="who")


@pytest.fixture
def kept(tmp_path):
    path = tmp_path / "ward.key"
    write_key(Key.new(), path)
    return path


def test_a_new_key_is_for_its_owner_alone_and_stays(tmp_path):
    path = tmp_path / "ward.key"
    umask = os.umask(0)
    try:
        _, keep = key_of(PLAN, path)
        assert not path.exists()  # before it is used
        keep()
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_nlink == 1
    assert [one.name for one in tmp_path.iterdir()] == ["ward.key"]
    before = path.read_bytes()
    assert len(before) == 65
    _, keep = key_of(PLAN, path)
    keep()
    assert path.read_bytes() == before


def test_two_runs_that_make_one_key_do_not_take_each_others_place(tmp_path):
    path = tmp_path / "ward.key"
    (_, first), (_, second) = key_of(PLAN, path), key_of(PLAN, path)
    first()
    before = path.read_bytes()
    with pytest.raises(DataError, match="by another run meanwhile"):
        second()
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def spoiled(what, path):
    text = path.read_text()
    if what == "short":
        path.write_text(text[:62])
    elif what == "no digits":
        path.write_text("a secret that is long enough to be taken for a key, but none")
    elif what == "plain":
        path.write_text("0" * 64)
    elif what == "endless":
        path.write_text("0123456789abcdef" * 10_000)
    elif what == "not text":
        path.write_bytes(b"\xff" * 64)
    elif what == "empty":
        path.write_text("")
    elif what == "folder":
        path.unlink()
        path.mkdir()
    elif what == "pipe":
        path.unlink()
        os.mkfifo(path, 0o600)
    elif what == "link":
        other = path.with_name("other")
        path.rename(other)
        path.symlink_to(other)
    elif what == "dangling link":
        path.unlink()
        path.symlink_to(path.with_name("nothing"))
    else:
        path.chmod(int(what, 8))


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("640", "open to others"),
        ("604", "open to others"),
        ("620", "open to others"),
        ("666", "open to others"),
        ("short", "holds no key"),
        ("no digits", "holds no key"),
        ("plain", "holds no key"),
        ("endless", "holds no key"),
        ("not text", "holds no key"),
        ("empty", "holds no key"),
        ("folder", "folder, a pipe or a device"),
        ("pipe", "folder, a pipe or a device"),
        ("link", "symbolic link"),
        ("dangling link", "symbolic link"),
    ],
)
def test_a_key_that_others_might_know_is_refused(kept, what, expected):
    digits = kept.read_text().strip()
    spoiled(what, kept)
    done = threading.Event()

    def ask():
        with pytest.raises(DataError, match=expected) as caught:
            key_of(PLAN, kept)
        said_by(caught.value, digits, digits[:16], "a secret")
        assert caught.value.field == "key"
        done.set()

    asking = threading.Thread(target=ask, daemon=True)  # a pipe would let it wait for ever
    asking.start()
    asking.join(20)
    assert done.is_set()
    assert not kept.with_name("nothing").exists()


def test_a_key_of_another_user_is_refused(kept, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: kept.stat().st_uid + 1)
    with pytest.raises(DataError, match="belongs to another user"):
        read_key(kept)


def test_a_key_and_a_pseudonym_need_each_other(kept, tmp_path):
    with pytest.raises(PlanError, match="Pseudonyms need a key") as caught:
        key_of(PLAN, None)
    assert caught.value.field == "key"
    with pytest.raises(PlanError, match="the plan has none") as caught:
        key_of(Plan(k=2, quasi=("age",)), kept)
    assert caught.value.field == "pseudonym"
    with pytest.raises(DataError, match="cannot be written"):
        key_of(PLAN, tmp_path / "nowhere" / "ward.key")
    with pytest.raises(DataError, match="cannot be read"):
        key_of(PLAN, "a\0b")
