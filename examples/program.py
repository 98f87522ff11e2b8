"""A small program on top of Shoal: publish a table, verify it, and say how close to the best it came.

    python examples/program.py examples/hospital.csv hospital-k5.csv

It is held by the tests, and by `mypy --strict`: a keyword of a wrong name or type is found before anything
runs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import shoal


def publish(table: Path, to: Path, *, k: int) -> shoal.Files:
    """Write a release of the hospital's table; nothing is written where that cannot be done safely."""
    read = shoal.read_table(table)
    release = shoal.anonymize(
        read.frame,
        k=k,
        quasi=["birth_date", "zip", "sex"],
        sensitive=["diagnosis"],
        rules=["diagnosis: 2-diverse"],
        unit="patient_id",
        hierarchies={"zip": shoal.prefixes(5, 3, 2)},
        method="mondrian",
    )
    ratio: float | None = release.certificate.ratio
    print("How close to the best is not known." if ratio is None else f"At most {ratio} times the best.")
    return release.write(to, inputs=[table])


def doubts(files: shoal.Files, table: Path) -> list[str]:
    """The claims of a certificate that do not hold."""
    findings: tuple[shoal.Finding, ...] = shoal.verify(
        files.table, files.certificate, original=table, receipt=files.receipt
    )
    return [finding.claim for finding in findings if finding.holds is False]


def main(table: Path, to: Path) -> int:
    """Publish and verify; 2 where the plan or the table cannot be right."""
    try:
        files = publish(table, to, k=5)
    except shoal.ShoalError as error:
        print(error, error.field or "", error.column or "", file=sys.stderr)
        return 2
    return 1 if doubts(files, table) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
