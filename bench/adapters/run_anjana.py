"""anjana in its own environment: table, hierarchies, k, release; prints its seconds as JSON.

Full-domain generalization with up to 5 % of the rows left out, as its own examples do.
"""

import csv
import json
import sys
import time

import pandas as pd
from anjana.anonymity import k_anonymity

QUASI = "age workclass education marital-status occupation race sex native-country".split()  # noqa: SIM905

table, folder, k, release = sys.argv[1:5]
frame = pd.read_csv(table, dtype=str)[[*QUASI, "salary-class"]]
hierarchies = {}
for name in QUASI:
    levels = pd.read_csv(f"{folder}/{name}.csv", dtype=str)
    hierarchies[name] = {level: levels.iloc[:, level].to_numpy() for level in range(levels.shape[1])}
wall, cpu = time.perf_counter(), time.process_time()
found = k_anonymity(frame, [], QUASI, int(k), 5, hierarchies)
seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
rows = found.get("index", found.index)
with open(release, "w", encoding="utf-8", newline="") as file:
    writer = csv.writer(file)
    writer.writerow([*QUASI, "row"])
    writer.writerows(zip(*(found[name] for name in QUASI), rows, strict=True))
print(json.dumps(seconds))
