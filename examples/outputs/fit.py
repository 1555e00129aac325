"""Fits y = 3 x by gradient descent, and prints the loss."""

import os

rate = float(os.environ["RATE"])
slope = 0.0
for _ in range(20):
    slope += rate * sum(2 * (3 * x - slope * x) * x for x in (0.5, 1.0, 1.5)) / 3
print(f"slope={slope:.4f} loss={(3 - slope) ** 2:.6f}")
