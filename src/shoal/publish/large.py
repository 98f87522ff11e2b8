"""Tables larger than memory as files: copied, or written part by part and read again part by part.

Parquet is the form in which such a table was judged: the file is copied, and its fingerprint must be that
of what was judged. Text and Arrow files are written from it, and every part is read again and compared.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import NotAnonymous, PlanError
from shoal.publish.compare import compare
from shoal.publish.formats import read_csv, write_csv

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LARGE", "LargeTable", "check_large"]

LARGE = (".parquet", ".csv", ".tsv", ".arrow", ".feather", ".ipc")
"""The endings of files that can be written part by part."""
BLOCK = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class LargeTable:
    """A finished table: its Parquet file, which `opens` gives anew, its SHA-256, and its lines in parts."""

    opens: Callable[[], io.RawIOBase]
    digest: str
    frames: Callable[[], Iterator[pl.DataFrame]]

    def write(self, path: Path, ending: str, delimiter: str) -> None:
        """Write a file that reads as what was judged, or raise."""
        check_large(ending)
        if ending == ".parquet":
            self._copy(path)
        elif ending in {".csv", ".tsv"}:
            self._write_text(path, "\t" if ending == ".tsv" else delimiter)
        else:
            self._write_arrow(path)

    def formulas(self, ending: str) -> dict[str, int]:
        """The cells by column that a spreadsheet would take for formulas, in files that it opens."""
        from shoal.publish.formulas import count_formulas

        counts: dict[str, int] = {}
        if ending in {".csv", ".tsv"}:
            for frame in self.frames():
                for name, count in count_formulas(frame).items():
                    counts[name] = counts.get(name, 0) + count
        return counts

    def _copy(self, path: Path) -> None:
        digest = hashlib.sha256()
        source = self.opens()
        with path.open("r+b") as file:
            while block := source.read(BLOCK):
                digest.update(block)
                file.write(block)
            file.truncate()
        if digest.hexdigest() != self.digest:
            raise NotAnonymous(
                "The table is no longer the one that was judged, so nothing was written. Anonymize again."
            )

    def _write_text(self, path: Path, delimiter: str) -> None:
        ends = []
        with path.open("r+b") as file:
            for place, frame in enumerate(self.frames()):
                write_csv(frame, file, delimiter, header=place == 0)
                ends.append(file.tell())
            file.truncate()
        with path.open("rb") as written:
            header = b""
            for frame, end in zip(self.frames(), ends, strict=True):
                if not header:
                    head = io.BytesIO()
                    write_csv(frame.clear(), head, delimiter)
                    header = written.read(len(head.getvalue()))
                text = header + written.read(end - written.tell())

                def again(text: bytes = text, frame: pl.DataFrame = frame) -> pl.DataFrame:
                    return read_csv(text, delimiter, frame)

                compare(frame, again)

    def _write_arrow(self, path: Path) -> None:
        import polars as pl
        import pyarrow as pa

        with pa.OSFile(os.fspath(path), "wb") as sink:
            writer: Any = None
            for frame in self.frames():
                part = frame.to_arrow()
                if writer is None:
                    writer = pa.ipc.new_file(sink, part.schema)
                writer.write_batch(part.combine_chunks().to_batches()[0])
            if writer is not None:
                writer.close()
        with pa.OSFile(os.fspath(path)) as file:
            reader = pa.ipc.open_file(file)
            for at, frame in enumerate(self.frames()):

                def again(at: int = at) -> pl.DataFrame:
                    found: Any = pl.from_arrow(pa.Table.from_batches([reader.get_batch(at)]))
                    return found  # type: ignore[no-any-return]

                compare(frame, again)


def check_large(ending: str) -> None:
    """Refuse a kind of file that must be made whole in memory."""
    if ending not in LARGE:
        raise PlanError(
            f"A table larger than memory cannot be written as a {ending} file. Choose one of: "
            f"{', '.join(LARGE)}.",
            field="engine",
        )
