"""React to failures: errors of submissions, failed tasks, and tasks that take too long.

Run: python3 failures.py, after `k8s-cli auth login`.
"""

from k8s_cli import Client, errors


def main() -> None:
    with Client() as client:
        try:
            client.submit(run="true", cpus="many")
        except errors.Invalid as err:
            print(f"not submitted: {err.field}: {err.detail}")

        job = client.submit(run="echo trying; exit 7", name="flaky", cpus=0.1)
        try:
            job.wait(check=True)
        except errors.TaskFailed as failed:
            status = failed.task
            print(f"{job.name}: {status.status} ({failed.reason}), exit code {status.exit_code}")
            print(f"hint: {status.metadata.hint}")

        slow = client.submit(run="sleep 600", name="slow", cpus=0.1)
        try:
            slow.wait(timeout=0.5)
        except errors.WaitTimeout:
            slow.stop()
            print(f"{slow.name}: {slow.wait().status}")


if __name__ == "__main__":
    main()
