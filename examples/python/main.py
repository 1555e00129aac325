"""Prints the mean of a column of a CSV file."""

import csv
import os
import statistics
import sys

column = os.environ["COLUMN"]
token = os.environ["API_TOKEN"]

with open(sys.argv[1], newline="") as file:
    values = [float(row[column]) for row in csv.DictReader(file)]

print(f"the mean {column} of {len(values)} rows is {statistics.mean(values):.2f}")
print(f"the token has {len(token)} characters")
