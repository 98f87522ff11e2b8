"""A PostgreSQL server of the tests' own: in a temporary folder, on a socket, as a user without rights."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

__all__ = ["PASSWORD", "Server", "running"]

PASSWORD = "canary-pa55"
"""Of every role; nothing that Shoal says may hold it."""
HOMES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin")


def _programs() -> Path | None:
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    homes = [path for pattern in HOMES for path in Path("/").glob(pattern.removeprefix("/"))]
    return max((home for home in homes if (home / "initdb").exists()), default=None)


@dataclass
class Server:
    """A server that can be stopped, killed and started again."""

    folder: Path
    programs: Path
    who: dict[str, Any]
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def uri(self, database: str = "postgres", *, role: str = "owner", password: str = PASSWORD) -> str:
        return f"postgresql://{role}:{password}@/{database}?host={self.folder}"

    def call(self, program: str, *words: str) -> None:
        subprocess.run(
            [self.programs / program, *words],
            check=True,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self.environment,
            **self.who,
        )

    @property
    def environment(self) -> dict[str, str]:
        return {"LC_ALL": "C", "PATH": os.environ.get("PATH", ""), "PGPASSWORD": PASSWORD}

    def start(self) -> None:
        data = str(self.folder / "data")
        settings = f"-k {self.folder} -h '' -F"
        self.call(
            "pg_ctl", "-D", data, "-w", "-t", "60", "-o", settings, "-l", f"{self.folder}/log", "start"
        )

    def stop(self, mode: str = "fast") -> None:
        self.call("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def kill(self) -> None:
        """As if the machine lost its power, but for the disk: the server and all that belongs to it."""
        main = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        os.kill(main, signal.SIGKILL)
        for child in children:
            try:
                os.kill(int(child), signal.SIGKILL)
            except ProcessLookupError:
                continue
        for lock in (self.folder / "data" / "postmaster.pid", *self.folder.glob(".s.PGSQL*")):
            lock.unlink(missing_ok=True)

    def run(self, *statements: str) -> list[Any]:
        """The rows of the last of some statements, as its owner."""
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(self.uri(), autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []


@contextmanager
def running() -> Iterator[Server]:
    """A new server; skips where there is none to start."""
    pytest.importorskip("adbc_driver_postgresql", reason="the extra 'postgresql' is not installed")
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    who: dict[str, Any] = {}
    if os.getuid() == 0:  # PostgreSQL does not run as root
        nobody = pwd.getpwnam("nobody")
        who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    server = Server(folder, programs, who)
    try:
        secret = folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        words = ("-A", "scram-sha-256", "-U", "owner", "--pwfile", str(secret), "-E", "UTF8", "--no-sync")
        server.call("initdb", "-D", str(folder / "data"), *words)
        server.start()
        try:
            yield server
        finally:
            with suppress(subprocess.CalledProcessError):  # it may have been killed
                server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
