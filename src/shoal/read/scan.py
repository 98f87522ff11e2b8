"""Tables that are read batch by batch: files, folders of files, datasets and lazy frames.

Nothing here holds more than a few batches. What must be read more than once and cannot be (text, lazy
frames) is packed into a scratch file without a name first. Parsers quote cells in their errors, so nothing
of theirs leaves this file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq

from shoal.errors import DataError, PlanError
from shoal.model.names import check_literal
from shoal.read.frames import to_polars
from shoal.read.header import check_names, read_names
from shoal.read.large import ARROW, PARQUET, TEXT
from shoal.read.nameless import Nameless, folder_of
from shoal.read.text import SAMPLE, guess_delimiter, take_separator

__all__ = ["Scan", "scan_frame", "scan_table"]

BATCH = 1 << 18
"""Rows of a batch."""
BLOCK = 8 << 20
"""Bytes of a text that are parsed together."""
Opens = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A table that is read batch by batch, as often as needed.

    `like` is a frame of its columns without rows; `said` tells in words what was guessed; `delimiter` is
    that of a text.
    """

    like: pl.DataFrame
    rows: int
    opens: Opens
    said: tuple[str, ...] = ()
    delimiter: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(self.like.columns)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns; words come as dictionaries where that is cheap."""
        try:
            for batch in self.opens(names):
                for first in range(0, batch.num_rows, BATCH):
                    yield batch.slice(first, BATCH)
        except (pa.ArrowException, OSError, ValueError):
            raise DataError(
                "The table cannot be read to its end: it is damaged, or was changed. Write it again."
            ) from None

    def frames(self, names: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """The same as Polars frames of the types of `like`."""
        chosen = list(self.columns if names is None else names)
        for batch in self.batches(chosen):
            frame: Any = pl.from_arrow(_plain(batch))
            yield frame.cast(dict(self.like.select(chosen).schema))


def _plain(batch: pa.RecordBatch) -> pa.Table:
    """Words as words."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in batch.columns
    ]
    return pa.table(columns, names=batch.schema.names)


def scan_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    scratch: str | None = None,
) -> Scan:
    """Open a Parquet, Arrow or CSV file, or a folder of Parquet or Arrow files, without reading it whole.

    Text is packed into a scratch file first: UTF-8 with a header and decimal points.

    Args:
        path: The file or folder.
        delimiter: Between the cells of a text; guessed if not given.
        encoding: Of a text; only UTF-8 is possible.
        decimal: Of a text; only the point is possible.
        scratch: A folder for scratch files; the system's own if not given.

    Example:
        >>> import shoal
        >>> scan = shoal.scan_table("examples/hospital.csv")
        >>> scan.rows, scan.columns[:2]
        (5000, ('name', 'patient_id'))

    """
    place = Path(path)
    files = _files(place)
    suffix = files[0].suffix.lower()
    if suffix in TEXT and len(files) == 1:
        return _scan_text(files[0], delimiter, encoding, decimal, folder_of(scratch))
    try:
        found = [_open_parquet(file) if suffix in PARQUET else _open_arrow(file) for file in files]
    except (pa.ArrowException, OSError, ValueError):
        raise DataError(
            f"{place} cannot be read: it is damaged, cut short or of another kind. Write it again, or give "
            "it the ending of its true kind."
        ) from None
    schema = found[0][0]
    for file, (other, _, _) in zip(files, found, strict=True):
        if other.names != schema.names or other.types != schema.types:
            raise DataError(
                f"{file.name} has other columns or types than {files[0].name}. Give files of one table."
            )
    return _scan(
        schema, sum(rows for _, rows, _ in found), _after_each_other([o for *_, o in found]), place
    )


def scan_frame(frame: Any, scratch: str | None = None) -> Scan:
    """Any frame: a lazy one is packed into a scratch file, a dataset of Arrow is read where it is."""
    if isinstance(frame, Scan):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return _scan_lazy(frame, folder_of(scratch))
    if isinstance(frame, pa.dataset.Dataset):
        return _scan(frame.schema, frame.count_rows(), _of_dataset(frame), None)
    _, table = to_polars(frame)
    _check_types(table.clear())

    def opens(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield from table.select(names).to_arrow().to_batches(max_chunksize=BATCH)

    return _scan(table.clear().to_arrow().schema, table.height, opens, None)


def _check_types(table: pl.DataFrame) -> None:
    """Refuse columns that Arrow does not know, which a table in batches is made of."""
    for column in table:
        try:
            column.to_arrow()
        except pa.ArrowException:
            raise DataError(
                f"Column {column.name!r} is of the type {column.dtype.base_type().__name__}, which cannot "
                "be published. Give it a plain type first, such as text or numbers.",
                column=column.name,
            ) from None


def _scan(schema: Any, rows: int, opens: Opens, place: Path | None) -> Scan:
    if place is not None:
        check_names(schema.names, place)
    check_literal(schema.names)
    plain = pa.schema(
        [
            (field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
            for field in schema
        ]
    )
    like: Any = pl.from_arrow(plain.empty_table())
    if not rows or not schema.names:
        raise DataError("The table has no rows. Nothing can be published.")
    return Scan(like, rows, opens)


def _files(place: Path) -> list[Path]:
    kinds = (*PARQUET, *ARROW)
    if place.is_dir():
        found = sorted(p for p in place.rglob("*") if p.suffix.lower() in kinds and p.name[0] not in "._")
        if not found:
            raise DataError(f"{place} holds no file that ends in one of: {', '.join(kinds)}.")
        if len({p.suffix.lower() in PARQUET for p in found}) > 1:
            raise DataError(f"{place} holds Parquet and Arrow files. Give a folder of one kind.")
        return found
    if not place.is_file():
        raise DataError(f"{place} is neither a file nor a folder. Check the name.")
    if place.suffix.lower() not in (*kinds, *TEXT):
        raise DataError(
            f"{place} is of no kind that can be read batch by batch. Give a file that ends in one of: "
            f"{', '.join((*kinds, *TEXT))}."
        )
    return [place]


def _is_word(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _open_parquet(source: Any) -> tuple[Any, int, Opens]:
    def fresh(words: list[str]) -> Any:
        file = source.reader() if isinstance(source, Nameless) else source
        return pq.ParquetFile(file, read_dictionary=words, memory_map=False, buffer_size=1 << 20)

    about = fresh([])
    schema, rows = about.schema_arrow, about.metadata.num_rows

    def opens(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        words = [name for name in names if _is_word(schema.field(name).type)]
        yield from fresh(words).iter_batches(batch_size=BATCH, columns=list(names), use_threads=False)

    return schema, rows, opens


def _open_arrow(path: Path) -> tuple[Any, int, Opens]:
    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"

    def batches() -> Iterator[pa.RecordBatch]:
        with pa.OSFile(os.fspath(path)) as file:
            if not is_file:
                yield from pa.ipc.open_stream(file)
                return
            reader = pa.ipc.open_file(file)
            for at in range(reader.num_record_batches):
                yield reader.get_batch(at)

    with pa.OSFile(os.fspath(path)) as file:
        schema = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file).schema
    rows = sum(batch.num_rows for batch in batches())

    def opens(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in batches():
            yield batch.select(list(names))

    return schema, rows, opens


def _of_dataset(dataset: Any) -> Opens:
    def opens(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        scanner = dataset.scanner(
            columns=list(names),
            batch_size=BATCH,
            use_threads=False,
            batch_readahead=1,
            fragment_readahead=1,
        )
        yield from scanner.to_batches()

    return opens


def _after_each_other(all_of_them: Iterable[Opens]) -> Opens:
    every = list(all_of_them)

    def opens(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for one in every:
            yield from one(names)

    return opens


def _scan_lazy(lazy: pl.LazyFrame, folder: Path) -> Scan:
    packed = Nameless(folder)
    try:
        writer = None
        _check_types(pl.DataFrame(schema=lazy.collect_schema()))
        for frame in _collected(lazy):
            table = frame.to_arrow()
            if writer is None:
                writer = pq.ParquetWriter(_Sink(packed), table.schema, compression="lz4")
            writer.write_table(table)
        if writer is None:
            raise DataError("The table has no rows. Nothing can be published.")
        writer.close()
    except DataError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        raise DataError(
            f"The lazy frame cannot be read ({type(error).__name__}). Collect it yourself to see why."
        ) from None
    schema, rows, opens = _open_parquet(packed)
    return _scan(schema, rows, opens, None)


def _collected(lazy: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Batches of a lazy frame; texts of categories."""
    words = [name for name, kind in lazy.collect_schema().items() if kind in {pl.Categorical, pl.Enum}]
    yield from lazy.with_columns(pl.col(words).cast(pl.String)).collect_batches(chunk_size=BATCH)


class _Sink:
    """A scratch file as writers of Arrow know files."""

    def __init__(self, file: Nameless) -> None:
        self._file = file
        self.closed = False

    def write(self, data: Any) -> int:
        return self._file.write(data)

    def flush(self) -> None:
        return None

    def close(self) -> None:
        self.closed = True

    def tell(self) -> int:
        return self._file.size

    def writable(self) -> bool:
        return True


def _scan_text(
    path: Path, delimiter: str | None, encoding: str | None, decimal: str | None, folder: Path
) -> Scan:
    if encoding is not None and encoding.lower().replace("_", "-") not in {"utf-8", "utf8", "utf-8-sig"}:
        raise PlanError(
            f"A text that is read batch by batch is UTF-8, not {encoding}. Convert it first.",
            field="encoding",
        )
    if decimal not in {None, "."}:
        raise PlanError(
            "A text that is read batch by batch has decimal points. Convert it first.", field="decimal"
        )
    with path.open("rb") as file:
        head = file.read(2 * SAMPLE)
    said = ["encoding utf-8"]
    bare = head.removeprefix(b"\xef\xbb\xbf")
    if not bare.strip():
        raise DataError(f"{path} is empty. Give a file with a header and rows.")
    below, named = take_separator(bare)
    if delimiter is None:
        delimiter = named or guess_delimiter(below, prefer="\t" if ".ts" in path.name.lower() else ",")
        said.append(f"delimiter {'tab' if delimiter == chr(9) else repr(delimiter)}")
    above = bare.count(b"\n", 0, len(bare) - len(below))
    packed = Nameless(folder)
    try:
        _pack_text(path, delimiter, above, packed)
    except (pa.ArrowException, OSError, ValueError, UnicodeError):
        raise DataError(
            f"{path} cannot be read as a table of UTF-8 text: lines have more or fewer cells than the "
            f"header, quotes are not closed, or the encoding is another (it was read with the delimiter "
            f"{delimiter!r}). Mend this first.",
            field="delimiter",
        ) from None
    schema, rows, opens = _open_parquet(packed)
    scan = _scan(schema, rows, opens, path)
    return Scan(scan.like, scan.rows, scan.opens, tuple(said), delimiter)


def _pack_text(path: Path, delimiter: str, above: int, packed: Nameless) -> None:
    """Every column as text; a quoted nothing is nothing."""
    parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    read = pa.csv.ReadOptions(block_size=BLOCK, use_threads=False, skip_rows=above)
    names = read_names(pa.csv.open_csv(os.fspath(path), read, parse).schema.names, path)
    convert = pa.csv.ConvertOptions(
        column_types={name: pa.string() for name in names},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    read.column_names = list(names)
    read.skip_rows = above + 1
    schema = pa.schema([(name, pa.string()) for name in names])
    with pq.ParquetWriter(_Sink(packed), schema, compression="lz4") as writer:
        for batch in pa.csv.open_csv(os.fspath(path), read, parse, convert):
            writer.write_batch(batch)
