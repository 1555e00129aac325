"""A sweep: one task for each combination of values, and a table of the results.

Run: python3 sweep.py, after `k8s-cli auth login`.
"""

from k8s_cli import Client, Task

PROGRAM = 'echo "loss $(awk "BEGIN {print $LR * $EPOCHS}")"'


def main() -> None:
    with Client() as client:
        task = Task(PROGRAM, name="train", cpus=0.1)
        sweep = client.map(task, {"LR": [0.1, 0.01], "EPOCHS": [3, 10]})
        print(f"group {sweep.name}: {len(sweep)} tasks")
        sweep.wait()
        for (point, status), job in zip(sweep.results(), sweep):
            last = "".join(job.logs(tail=1)).strip()
            print(f"LR={point['LR']:<6} EPOCHS={point['EPOCHS']:<4} {status.status:<10} {last}")


if __name__ == "__main__":
    main()
