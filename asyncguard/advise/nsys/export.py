"""An exported report of Nsight Systems, read as what it is: a database from somebody else.

`nsys export --type sqlite` writes one table for each kind of event, with other columns from one
release to the next; so they are read by name. The file is opened read-only, under SQLite's own
locks. Only plain tables and stored columns are read: views, virtual tables and generated columns
would run what their author wrote.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from asyncguard import files
from asyncguard.model import AsyncguardError

MAGIC = b"SQLite format 3\0"
WAL = 2  # of the versions in the header: changes may lie in a second file
HEADER = 100  # bytes
REPORTS = (".nsys-rep", ".qdrep", ".qdstrm")
MOST_ROWS = 4_000_000  # of one kind that are kept at a time
LONGEST = 1_000  # characters of one text that are kept
LARGEST = 1 << 24  # bytes of one value that is read
LIMIT_LENGTH = 0  # SQLite's number of that limit
LATEST = 2**62  # ns
PID = 0xFFFFFF  # of a global identifier, above the 24 bits of a thread
API = "CUPTI_ACTIVITY_KIND_RUNTIME"
SYNCHRONIZATION = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
Row = tuple[Any, ...]


class Process(NamedTuple):
    """The process that is read; `alone` where no other one called CUDA."""

    number: int
    alone: bool


class Export:
    """An open export. `lacking` are the tables and columns that were asked for and are not there;
    `skipped` is how many rows made no sense."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._columns: dict[str, frozenset[str]] = {}
        self.lacking: list[str] = []
        self.skipped = 0
        self.tables = self._plain_tables()

    def _plain_tables(self) -> frozenset[str]:
        found = self._connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        return frozenset(
            name
            for name, sql in found
            if isinstance(name, str) and not str(sql).lstrip().upper().startswith("CREATE VIRTUAL")
        )

    def columns(self, table: str) -> frozenset[str]:
        """The stored columns of a table; none where it is missing."""
        if table not in self.tables:
            return frozenset()
        if table not in self._columns:
            # Generated columns are not in this list.
            found = self._connection.execute(f"PRAGMA table_info({quoted(table)})")
            self._columns[table] = frozenset(str(row[1]) for row in found)
        return self._columns[table]

    def require(self, table: str, columns: Sequence[str]) -> None:
        """Raise AsyncguardError where a table lacks one of these columns."""
        if missing := [name for name in columns if name not in self.columns(table)]:
            names = ", ".join(missing)
            noun = "column" if len(missing) == 1 else "columns"
            raise AsyncguardError(
                f"its table {table} lacks the {noun} {names}; export the report again with a newer "
                "nsys: nsys export --type sqlite REPORT.nsys-rep"
            )

    def has(self, table: str, columns: Sequence[str]) -> bool:
        """Whether these can be read; what is missing is noted as `lacking`."""
        missing = [name for name in columns if name not in self.columns(table)]
        if table not in self.tables:
            self._lacks(table)
        for name in missing if table in self.tables else ():
            self._lacks(f"{table}.{name}")
        return not missing

    def _lacks(self, name: str) -> None:
        if name not in self.lacking:
            self.lacking.append(name)

    def column(self, table: str, name: str, alias: str = "") -> str:
        """A column as SQL has it; NULL, and noted as `lacking`, where it is not there."""
        known = name in self.columns(table)
        if not known:
            self._lacks(f"{table}.{name}")
        return f"{alias}{'.' if alias else ''}{quoted(name)}" if known else "NULL"

    def of_process(self, table: str, process: Process, alias: str) -> str | None:
        """The condition for a process's rows; None where they cannot be told from others'."""
        if "globalPid" in self.columns(table):
            return f'({alias}."globalPid" >> 24) & {PID} = {process.number}'
        self._lacks(f"{table}.globalPid")
        return "1" if process.alone else None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of a query, as many as there are; SQL is made of names in this package alone."""
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(sql, values)
            while portion := cursor.fetchmany(4096):
                yield from portion

    def kept(self, table: str, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of a query that are to be kept; raises AsyncguardError for too many."""
        for count, row in enumerate(self.rows(sql, values), 1):
            if count > MOST_ROWS:
                raise AsyncguardError(
                    f"its table {table} holds more than {MOST_ROWS:,} rows of one process; profile "
                    "a shorter range (nsys profile --duration, --capture-range)"
                )
            yield row

    def spans(self, rows: Iterator[Row]) -> Iterator[Row]:
        """The rows whose first two values are a time and a later one; counts the others."""
        for row in rows:
            if is_time(row[0]) and is_time(row[1]) and row[0] <= row[1]:
                yield row
            else:
                self.skipped += 1

    def named(self, table: str, defaults: Mapping[str, int]) -> dict[str, int]:
        """The numbers of an enumeration, from its table where the export has one."""
        if not {"id", "name"} <= self.columns(table):
            return dict(defaults)
        rows = self.kept(table, f"SELECT id, name FROM {quoted(table)}")
        said = {name: number for number, name in rows if name in defaults and is_number(number)}
        return {**defaults, **said}


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def is_number(value: object) -> bool:
    """Whether a value is a whole number, as the schema wants it."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_time(value: object) -> bool:
    """Whether a value is a time of the export's clock, in ns."""
    return isinstance(value, int) and 0 <= value < LATEST


@contextmanager
def opened(path: Path) -> Iterator[Export]:
    """Open an export for reading; raises AsyncguardError naming the file and the remedy.

    So does whatever is wrong with it while it is read.
    """
    _examine(path)
    try:
        with closing(_connect(path)) as connection:
            yield Export(connection)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter in SQLite's own messages
        raise AsyncguardError(_why(path, error)) from error
    except AsyncguardError as error:
        raise AsyncguardError(f"{path}: {error}") from error


def _examine(path: Path) -> None:
    """Raise AsyncguardError for what is no database that can be read without writing."""
    try:
        head = files.head(path, HEADER)
    except OSError as error:
        raise AsyncguardError(
            f"{path}: cannot read the export: {error.strerror or error}; nsys export --type sqlite "
            "REPORT.nsys-rep writes one"
        ) from error
    if not head.startswith(MAGIC):
        raise AsyncguardError(f"{path}: {_no_database(path)}")
    if WAL in head[18:20]:
        raise AsyncguardError(
            f"{path}: another program has opened it for writing (its journal is a WAL); export "
            "the report again: nsys export --type sqlite REPORT.nsys-rep"
        )


def _no_database(path: Path) -> str:
    if path.suffix in REPORTS:
        target = path.with_suffix(".sqlite").name
        return (
            "is a report that has not been exported; run: nsys export --type sqlite -o "
            f"{target} {path.name}"
        )
    return (
        "not an export of Nsight Systems: it is no SQLite database; run: nsys export --type "
        "sqlite REPORT.nsys-rep"
    )


def _connect(path: Path) -> sqlite3.Connection:
    # Who holds a lock writes it now, and would not be done in a second.
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)
    try:
        connection.text_factory = _text
        for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {setting}")
        limit: Callable[[int, int], int] | None = getattr(connection, "setlimit", None)
        if limit is not None:  # Python 3.11
            limit(LIMIT_LENGTH, LARGEST)
    except BaseException:
        connection.close()
        raise
    return connection


def _text(data: bytes) -> str:
    return data[: 4 * LONGEST].decode("utf-8", "replace")[:LONGEST]


def _why(path: Path, error: Exception) -> str:
    reason = str(error)
    if "locked" in reason or "busy" in reason:
        return f"{path}: another program is writing it ({reason}); wait until that has finished"
    return (
        f"{path}: not a whole export of Nsight Systems: {reason}; export it again: nsys export "
        "--type sqlite REPORT.nsys-rep"
    )
