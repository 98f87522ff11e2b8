"""Make the bundled example: an invented hospital's admissions, its zip areas and its hierarchies.

    python examples/make_hospital.py [FOLDER]

Writes hospital.csv, zip-nodes.csv, zip-edges.csv and hierarchies/ into FOLDER or beside this script.
The same bytes every time: RandomState is the one stream of random numbers that NumPy never changes.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np

ROWS = 5_000
SEED = 20_240_229
FIRST_DAY, LAST_DAY = date(2022, 1, 1), date(2024, 12, 31)

COLUMNS = (
    "name",
    "patient_id",
    "birth_date",
    "zip",
    "lat",
    "lon",
    "sex",
    "marital_status",
    "occupation",
    "admission_date",
    "diagnosis",
    "cost",
)

# four blocks of 5 x 4 zip areas; the two western ones lie in another state than the two eastern ones
PREFIXES = (("010", "060"), ("011", "061"))
BLOCK_WIDTH, BLOCK_HEIGHT = 5, 4

WOMEN = (
    "Ada Agnes Alma Beatrix Carla Clara Dora Edith Elena Emma Erika Flora Greta Hanna Helga Ida Ines "
    "Irma Jana Judith Karin Lea Lena Lotte Lydia Magda Maja Marta Mira Nadia Nora Olga Paula Petra Rosa "
    "Ruth Sara Selma Tilda Vera"
).split()
MEN = (
    "Adam Albert Anton Arno Benno Bruno Carl David Egon Emil Erik Ernst Felix Franz Georg Gustav Hans "
    "Hugo Igor Ivan Jakob Jonas Karl Kurt Leo Linus Ludwig Marco Max Moritz Nils Oskar Otto Paul Peter "
    "Ralf Samuel Theo Viktor Willem"
).split()
FAMILIES = (
    "Abel Adler Alder Amber Archer Ashby Baker Banks Barley Beck Bell Berger Birch Black Bloom Boyd "
    "Brandt Bridge Brook Burns Carver Castle Chase Clay Cole Cooper Cross Dale Dawn Drake Dyer Elm "
    "Engel Falk Farmer Field Finch Fisher Flint Ford Forest Fox Frost Fuller Garden Gate Glover Grant "
    "Gray Green Grove Hale Hart Hawk Heath Hill Holt Hunter Ivory Jarvis Kane Keller Kern King Knight "
    "Lake Lamb Lane Lark Linden Lock Marsh Mason Meadow Mill Moor Moss North Oak Olsen Page Park Pike "
    "Pond Porter Potter Quill Reed Ridge River Rose Rowan Sand Shaw Shore Stone Swan Thorn Vale Wagner "
    "Ward Weaver Webb West Wolf Wood York"
).split()

MARITAL = {
    "never married": "alone",
    "divorced": "formerly with a partner",
    "separated": "formerly with a partner",
    "widowed": "formerly with a partner",
    "married": "with a partner",
    "registered partnership": "with a partner",
}

# occupation: sector, kind of work, share among adults of working age
OCCUPATIONS = {
    "farmer": ("land and forest", "manual", 0.03),
    "forester": ("land and forest", "manual", 0.01),
    "builder": ("trades", "manual", 0.06),
    "electrician": ("trades", "manual", 0.04),
    "plumber": ("trades", "manual", 0.03),
    "mechanic": ("trades", "manual", 0.04),
    "driver": ("transport", "manual", 0.05),
    "warehouse worker": ("transport", "manual", 0.05),
    "pilot": ("transport", "manual", 0.002),
    "cleaner": ("services", "service", 0.06),
    "cook": ("services", "service", 0.04),
    "hairdresser": ("services", "service", 0.02),
    "shop assistant": ("trade", "service", 0.10),
    "shop owner": ("trade", "service", 0.03),
    "police officer": ("safety", "service", 0.02),
    "firefighter": ("safety", "service", 0.01),
    "nurse": ("care", "service", 0.06),
    "carer": ("care", "service", 0.05),
    "clerk": ("office", "desk", 0.11),
    "accountant": ("office", "desk", 0.04),
    "manager": ("office", "desk", 0.05),
    "lawyer": ("law and public life", "desk", 0.01),
    "judge": ("law and public life", "desk", 0.001),
    "mayor": ("law and public life", "desk", 0.0005),
    "teacher": ("learning", "desk", 0.05),
    "professor": ("learning", "desk", 0.003),
    "engineer": ("technology", "desk", 0.04),
    "programmer": ("technology", "desk", 0.04),
    "physician": ("medicine", "desk", 0.01),
    "pharmacist": ("medicine", "desk", 0.008),
    "child": ("child or student", "not working", 0.0),
    "student": ("child or student", "not working", 0.0),
    "retired": ("at home", "not working", 0.0),
    "at home": ("at home", "not working", 0.0),
    "unemployed": ("at home", "not working", 0.0),
}

# diagnosis: weight in each of the age bands below, median cost, spread of the logarithm of the cost
BANDS = (0, 1, 16, 35, 50, 65, 80, 200)
DIAGNOSES = {
    "birth": ((60, 0, 0, 0, 0, 0, 0), 2_400, 0.4),
    "jaundice of the newborn": ((12, 0, 0, 0, 0, 0, 0), 1_800, 0.4),
    "bronchiolitis": ((14, 2, 0, 0, 0, 0, 0), 2_900, 0.5),
    "childbirth": ((0, 0, 34, 14, 0, 0, 0), 4_100, 0.4),
    "asthma": ((1, 14, 5, 3, 2, 2, 1), 2_700, 0.5),
    "appendicitis": ((0, 14, 10, 5, 2, 1, 1), 5_200, 0.4),
    "tonsillitis": ((1, 12, 6, 1, 0, 0, 0), 1_500, 0.4),
    "broken arm": ((0, 12, 6, 4, 4, 4, 4), 2_600, 0.5),
    "concussion": ((2, 9, 6, 3, 2, 3, 3), 1_700, 0.5),
    "type 1 diabetes": ((0, 5, 3, 2, 1, 1, 0), 3_300, 0.5),
    "type 2 diabetes": ((0, 0, 1, 5, 8, 8, 6), 3_600, 0.6),
    "depression": ((0, 2, 8, 8, 6, 3, 2), 6_800, 0.6),
    "alcohol dependence": ((0, 0, 4, 7, 6, 2, 0), 5_400, 0.6),
    "HIV": ((0, 0, 1.2, 1.0, 0.4, 0.1, 0), 7_900, 0.7),
    "hepatitis": ((0, 0, 1.5, 2, 1.5, 0.5, 0.2), 4_800, 0.6),
    "slipped disc": ((0, 0, 5, 9, 8, 4, 2), 5_600, 0.5),
    "gallstones": ((0, 0, 4, 7, 8, 6, 4), 5_900, 0.4),
    "hypertension": ((0, 0, 1, 5, 9, 9, 8), 2_200, 0.5),
    "heart attack": ((0, 0, 0.3, 4, 9, 10, 9), 14_500, 0.6),
    "heart failure": ((0, 0, 0.2, 1, 5, 12, 18), 9_200, 0.6),
    "stroke": ((0, 0, 0.4, 2, 6, 11, 15), 12_800, 0.7),
    "breast cancer": ((0, 0, 0.5, 4, 6, 5, 3), 16_900, 0.6),
    "lung cancer": ((0, 0, 0.1, 1, 5, 7, 3), 19_800, 0.6),
    "colon cancer": ((0, 0, 0.1, 1, 4, 6, 4), 18_200, 0.6),
    "leukaemia": ((0.5, 1.5, 0.5, 0.7, 1, 1.5, 1), 27_500, 0.8),
    "pneumonia": ((6, 5, 2, 3, 5, 9, 15), 4_900, 0.6),
    "broken hip": ((0, 0, 0.2, 0.6, 2, 8, 18), 11_300, 0.4),
    "knee replacement": ((0, 0, 0, 1, 6, 12, 6), 10_700, 0.3),
    "cataract": ((0, 0, 0, 0.5, 3, 9, 9), 1_900, 0.3),
    "kidney failure": ((0.2, 0.3, 0.6, 1.5, 3, 5, 6), 13_600, 0.7),
    "dementia": ((0, 0, 0, 0, 0.6, 4, 13), 7_400, 0.6),
    "Huntington's disease": ((0, 0, 0.05, 0.15, 0.1, 0.02, 0), 9_900, 0.7),
}
CHRONIC = frozenset(
    (
        "asthma",
        "type 1 diabetes",
        "type 2 diabetes",
        "depression",
        "alcohol dependence",
        "HIV",
        "hepatitis",
        "heart failure",
        "breast cancer",
        "lung cancer",
        "colon cancer",
        "leukaemia",
        "kidney failure",
        "dementia",
        "Huntington's disease",
    )
)

Table = list[tuple[str, ...]]


def zip_areas(random: np.random.RandomState) -> tuple[Table, Table]:
    """Nodes (zip, lat, lon, population) and edges: four-sided areas, some meet at a corner."""
    width, height = 2 * BLOCK_WIDTH, 2 * BLOCK_HEIGHT
    names, nodes = {}, []
    for y in range(height):
        for x in range(width):
            prefix = PREFIXES[y // BLOCK_HEIGHT][x // BLOCK_WIDTH]
            number = (y % BLOCK_HEIGHT) * BLOCK_WIDTH + x % BLOCK_WIDTH
            names[x, y] = f"{prefix}{4 * number + 1 + random.randint(3):02d}"
            far = np.hypot(x - 2.6, y - 2.2)  # one city, thinning out into the country
            population = int(1_000 + 46_000 * np.exp(-0.55 * far) * random.uniform(0.6, 1.4))
            lat = 42.9 - 0.11 * (y + random.uniform(-0.25, 0.25))
            lon = -72.8 + 0.14 * (x + random.uniform(-0.25, 0.25))
            nodes.append((names[x, y], f"{lat:.5f}", f"{lon:.5f}", str(population)))
    edges = []
    for (x, y), name in names.items():
        beside, below = (x + 1, y), (x, y + 1)
        edges += [(name, names[other]) for other in (beside, below) if other in names]
        if (x + 1, y + 1) in names:  # one of the two diagonals at most, so the map stays planar
            falls = random.random_sample()
            if falls < 0.35:
                edges.append((name, names[x + 1, y + 1]))
            elif falls < 0.70:
                edges.append((names[x + 1, y], names[x, y + 1]))
    return sorted(nodes), sorted((min(edge), max(edge)) for edge in edges)


def patients(random: np.random.RandomState, nodes: Table) -> Table:
    """The admissions, one line each, in the order of the admission date."""
    people = np.array([int(node[3]) for node in nodes], dtype=float)
    rows: list[tuple[date, int, tuple[str, ...]]] = []
    number = 0
    while len(rows) < ROWS:
        number += 1
        rows += _admissions(random, number, nodes[_pick(random, people)])
    return [cells for _, _, cells in sorted(rows)[:ROWS]]


def _admissions(
    random: np.random.RandomState, number: int, node: tuple[str, ...]
) -> list[tuple[date, int, tuple[str, ...]]]:
    """One patient's admissions; most have one, the chronically ill more."""
    admitted = _admission_day(random)
    age = _age(random)
    born = admitted - timedelta(days=int(age * 365.25))
    woman = random.random_sample() < 0.54
    sex = "F" if woman else "M"
    if random.random_sample() < 0.004:
        sex = "X"
    given, family = (WOMEN if woman else MEN), FAMILIES
    name = f"{given[_pick(random, _falling(len(given)))]} {family[_pick(random, _falling(len(family)))]}"
    lat = f"{float(node[1]) + random.normal(0, 0.018):.5f}"
    lon = f"{float(node[2]) + random.normal(0, 0.023):.5f}"
    area = node[0]
    whereabouts = random.random_sample()
    if whereabouts < 0.008:
        area, lat, lon = "", "", ""
    elif whereabouts < 0.025:
        lat, lon = "", ""
    marital = "" if random.random_sample() < 0.03 else _marital_status(random, age)
    occupation = "" if random.random_sample() < 0.06 else _occupation(random, age)
    diagnosis = _diagnosis(random, age, woman=woman)
    if diagnosis == "birth":
        born = admitted
    further = random.poisson(1.4 if diagnosis in CHRONIC else 0.12)
    days = [
        admitted,
        *(admitted + timedelta(days=int(random.exponential(160)) + 3) for _ in range(further)),
    ]
    rows = []
    for day in sorted(days):
        if day > LAST_DAY:
            break
        same = day == admitted or (diagnosis in CHRONIC and random.random_sample() < 0.7)
        found = diagnosis if same else _diagnosis(random, (day - born).days / 365.25, woman=woman)
        if found == "birth" and day != born:
            found = "bronchiolitis"
        _, median, spread = DIAGNOSES[found]
        cost = f"{median * np.exp(random.normal(0, spread)):.2f}"
        if random.random_sample() < 0.005:
            found = ""
        where = (area, lat, lon, sex, marital, occupation)
        rows.append((day, number, (name, f"P{number:06d}", str(born), *where, str(day), found, cost)))
    return rows


def _admission_day(random: np.random.RandomState) -> date:
    """More in winter than in summer, fewer at weekends."""
    while True:
        day = FIRST_DAY + timedelta(days=random.randint((LAST_DAY - FIRST_DAY).days + 1))
        season = 1 + 0.25 * np.cos(2 * np.pi * (day.timetuple().tm_yday - 20) / 365)
        weekend = 0.6 if day.weekday() >= 5 else 1.0
        if random.random_sample() < season * weekend / 1.25:
            return day


def _age(random: np.random.RandomState) -> float:
    kind = random.random_sample()
    if kind < 0.09:
        return float(random.uniform(0, 0.4))
    if kind < 0.40:
        return float(random.uniform(0.4, 50))
    return float(min(1 + 101 * random.beta(4.2, 2.1), 102))


def _marital_status(random: np.random.RandomState, age: float) -> str:
    names = tuple(MARITAL)
    if age < 18:
        return names[0]
    single = float(np.clip(1.25 - age / 40, 0.08, 1))
    widowed = float(np.clip((age - 55) / 60, 0, 0.6))
    divorced = 0.02 if age < 30 else 0.13
    rest = max(1 - single - widowed - divorced, 0.02)
    weights = (single, divorced * 0.8, divorced * 0.2, widowed, rest * 0.94, rest * 0.06)
    return names[_pick(random, np.array(weights))]


def _occupation(random: np.random.RandomState, age: float) -> str:
    if age < 15:
        return "child"
    if age < 24 and random.random_sample() < 0.7:
        return "student"
    if age > 66 - 3 * random.random_sample():
        return "retired"
    aside = random.random_sample()
    if aside < 0.05:
        return "unemployed"
    if aside < 0.11:
        return "at home"
    names = tuple(OCCUPATIONS)
    return names[_pick(random, np.array([OCCUPATIONS[name][2] for name in names]))]


def _diagnosis(random: np.random.RandomState, age: float, *, woman: bool) -> str:
    band = int(np.searchsorted(BANDS, age, side="right")) - 1
    names = tuple(DIAGNOSES)
    weights = np.array([DIAGNOSES[name][0][band] for name in names], dtype=float)
    if not woman:
        weights[names.index("childbirth")] = 0.0
        weights[names.index("breast cancer")] *= 0.01
    return names[_pick(random, weights)]


def _falling(size: int) -> np.ndarray:
    """A few common names and many rare ones."""
    return 1.0 / np.arange(2, size + 2)


def _pick(random: np.random.RandomState, weights: np.ndarray) -> int:
    edges = np.cumsum(weights)
    return int(np.searchsorted(edges, random.random_sample() * edges[-1], side="right"))


def hierarchies(nodes: Table) -> dict[str, Table]:
    """One path per value, leaf first, as ARX writes them."""
    return {
        "marital_status": [(name, above, "*") for name, above in MARITAL.items()],
        "occupation": [(name, sector, kind, "*") for name, (sector, kind, _) in OCCUPATIONS.items()],
        "zip": [(area, f"{area[:3]}**", f"{area[:2]}***", "*") for area, *_ in nodes],
    }


def write(path: Path, rows: Iterable[Sequence[str]], *, delimiter: str = ",") -> None:
    """Rows as CSV with plain line ends."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)


def main(folder: Path) -> None:
    """Write all files of the example into `folder`."""
    random = np.random.RandomState(SEED)
    nodes, edges = zip_areas(random)
    folder.joinpath("hierarchies").mkdir(parents=True, exist_ok=True)
    write(folder / "hospital.csv", [COLUMNS, *patients(random, nodes)])
    write(folder / "zip-nodes.csv", [("zip", "lat", "lon", "population"), *nodes])
    write(folder / "zip-edges.csv", [("a", "b"), *edges])
    for column, paths in hierarchies(nodes).items():
        write(folder / "hierarchies" / f"{column}.csv", paths, delimiter=";")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
