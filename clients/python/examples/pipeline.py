"""A pipeline: tasks that run one after the other. The server accepts all of them or none.

Run: python3 pipeline.py, after `k8s-cli auth login`.
"""

from k8s_cli import Client, Task


def main() -> None:
    steps = [
        Task("echo preparing the data", name="prepare", cpus=0.1),
        Task("echo training", name="train", cpus=0.1),
        Task("echo evaluating", name="evaluate", cpus=0.1),
    ]
    with Client() as client:
        pipeline = client.chain(steps)
        for step in pipeline:
            for line in step.logs():
                print(f"{step.name} | {line}", end="")
        for step in pipeline:
            print(f"{step.name}: {step.wait().status}")


if __name__ == "__main__":
    main()
