"""Fits y = a*x + b to the points of y = 2*x + 1 by gradient descent."""

import os

rate = float(os.environ["RATE"])
epochs = int(os.environ["EPOCHS"])

points = [(x / 10, 2 * x / 10 + 1) for x in range(-10, 11)]
a = b = 0.0
for _ in range(epochs):
    errors = [(a * x + b - y, x) for x, y in points]
    a -= rate * 2 * sum(e * x for e, x in errors) / len(points)
    b -= rate * 2 * sum(e for e, _ in errors) / len(points)

loss = sum((a * x + b - y) ** 2 for x, y in points) / len(points)
print(f"rate={rate} epochs={epochs} loss={loss:.6f}")
