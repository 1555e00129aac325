"""Counts to STEPS, and stores a checkpoint after each step."""

import json
import os
import sys
import time
from pathlib import Path

file = Path(sys.argv[1])
steps = int(os.environ["STEPS"])
pause = float(os.environ["PAUSE"])


def load() -> dict:
    if not file.exists():
        print("there is no checkpoint: starting with step 1")
        return {"step": 0, "total": 0}
    state = json.loads(file.read_text())
    print(f"continuing after step {state['step']}")
    return state


def save(state: dict) -> None:
    """Replaces the checkpoint in one step, so that it is never half written."""
    new = file.with_suffix(".new")
    with new.open("w") as out:
        json.dump(state, out)
        out.flush()
        os.fsync(out.fileno())
    new.replace(file)


state = load()
while state["step"] < steps:
    time.sleep(pause)
    state["step"] += 1
    state["total"] += state["step"]
    save(state)
    print(f"step {state['step']} of {steps}")
print(f"the total is {state['total']}")
