"""anonypy in its own environment: table, hierarchies (unused), k, release; prints its seconds as JSON."""

import csv
import json
import sys
import time

import anonypy
import pandas as pd

QUASI = "age workclass education marital-status occupation race sex native-country".split()  # noqa: SIM905

table, _, k, release = sys.argv[1:5]
frame = pd.read_csv(table)[[*QUASI, "salary-class"]]
for name in QUASI[1:]:
    frame[name] = frame[name].astype("category")
wall, cpu = time.perf_counter(), time.process_time()
rows = anonypy.Preserver(frame, QUASI, "salary-class").anonymize_k_anonymity(k=int(k))
seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
with open(release, "w", encoding="utf-8", newline="") as file:
    writer = csv.writer(file)
    writer.writerow([*QUASI, "count"])
    for row in rows:
        writer.writerow([*(row[name][0] for name in QUASI), row["count"]])  # each cell is a list of one
print(json.dumps(seconds))
