"""Make an invented table with the shape of Diabetes-130: admissions of patients, some of them several.

    python examples/make_diabetes.py FILE [ROWS]

Patients come again, `?` marks what is missing, ages stand in bands, illnesses in ICD-9 codes, and a column
says who was readmitted. Nobody in it is real. The same bytes every time.

After B. Strack et al. Impact of HbA1c measurement on hospital readmission rates. BioMed Research
International, 2014, whose table it imitates in columns and shares alone.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

ROWS = 10_000
SEED = 130
COLUMNS = (
    "encounter_id",
    "patient_nbr",
    "race",
    "gender",
    "age",
    "weight",
    "admission_type_id",
    "discharge_disposition_id",
    "time_in_hospital",
    "payer_code",
    "medical_specialty",
    "num_lab_procedures",
    "num_medications",
    "diag_1",
    "diag_2",
    "max_glu_serum",
    "A1Cresult",
    "insulin",
    "diabetesMed",
    "readmitted",
)
RACES = {"Caucasian": 75, "AfricanAmerican": 19, "?": 2, "Hispanic": 2, "Other": 1, "Asian": 1}
AGES = (2, 7, 16, 37, 95, 170, 221, 256, 169, 27)
WEIGHTS = {"?": 969, "[50-75)": 9, "[75-100)": 13, "[100-125)": 6, "[125-150)": 2, ">200": 1}
ILLNESSES = {
    **{"428": 7, "414": 7, "786": 4, "410": 4, "486": 4, "427": 3, "491": 2, "715": 2, "682": 2, "434": 2},
    **{"780": 2, "996": 2, "276": 2, "250.8": 2, "599": 2, "38": 2, "584": 2, "V57": 1, "250.6": 1},
    **{"E885": 1, "?": 1, "250.83": 1, "296": 1, "197": 1, "V45": 1, "789": 1, "401": 3, "250": 4},
}
SPECIALTIES = {"?": 49, "InternalMedicine": 14, "Emergency": 8, "Family": 7, "Cardiology": 5, "Surgery": 5}


def rows(random: np.random.RandomState, number: int) -> list[tuple[str, ...]]:
    """Admissions: three of ten are of a patient who was there before."""
    patients: list[tuple[str, str, str, int]] = []
    made = []
    for at in range(number):
        if patients and random.random_sample() < 0.3:
            patient = patients[random.randint(len(patients))]
        else:
            band = _pick(random, dict(enumerate(AGES)))
            gender = _pick(random, {"Female": 54, "Male": 46})
            patient = (str(100_000 + 37 * len(patients)), _pick(random, RACES), gender, int(band))
            patients.append(patient)
        who, race, gender, band = patient
        days = 1 + int(min(13, random.geometric(0.25) - 1))
        again = _pick(random, {"NO": 54, ">30": 35, "<30": 11 + days})
        made.append(
            (
                str(2_000_000 + 11 * at),
                who,
                race,
                gender,
                f"[{10 * band}-{10 * band + 10})",
                _pick(random, WEIGHTS),
                _pick(random, {"1": 53, "2": 18, "3": 19, "6": 5, "5": 5}),
                _pick(random, {"1": 59, "3": 14, "6": 13, "18": 4, "2": 2, "22": 2, "11": 2}),
                str(days),
                _pick(random, {"?": 40, "MC": 32, "HM": 6, "SP": 5, "BC": 5, "MD": 4}),
                _pick(random, SPECIALTIES),
                str(1 + random.binomial(100, 0.42)),
                str(1 + random.binomial(40, 0.36)),
                _pick(random, ILLNESSES),
                _pick(random, ILLNESSES),
                _pick(random, {"None": 95, "Norm": 2, ">200": 2, ">300": 1}),
                _pick(random, {"None": 83, ">8": 8, "Norm": 5, ">7": 4}),
                _pick(random, {"No": 47, "Steady": 30, "Down": 12, "Up": 11}),
                _pick(random, {"Yes": 77, "No": 23}),
                again,
            )
        )
    return made


def _pick(random: np.random.RandomState, shares: dict) -> str:
    edges = np.cumsum(np.array(list(shares.values()), dtype=float))
    at = int(np.searchsorted(edges, random.random_sample() * edges[-1], side="right"))
    return list(shares)[at]


def main(path: Path, number: int = ROWS) -> None:
    """Write the table to `path`."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, *rows(np.random.RandomState(SEED), number)])


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit((__doc__ or "").strip())
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
