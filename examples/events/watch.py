"""Submits a task file, prints the events of the task as they happen, and then its log.

It needs the standard library alone. The environment names the server and the user:
K8S_CLI_API_URL, X_USER or K8S_CLI_TOKEN.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from typing import BinaryIO

URL = os.environ.get("K8S_CLI_API_URL", "http://localhost:8000").rstrip("/")
FINAL = {"completed", "failed", "stopped"}


def request(path: str, data: bytes | None = None, **headers: str) -> BinaryIO:
    if token := os.environ.get("K8S_CLI_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    else:
        headers["X-User"] = os.environ.get("X_USER", "ann@example.com")
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return urllib.request.urlopen(urllib.request.Request(URL + path, data, headers), timeout=60)


def submit(file: str) -> str:
    with open(file, "rb") as text, request(
        "/tasks/submit", text.read(), Content_Type="application/yaml", Idempotency_Key=str(uuid.uuid4())
    ) as answer:
        return json.load(answer)["task_id"]


def events(path: str) -> Iterator[dict]:
    """Yields the events of a stream, each once, also after the connection broke."""
    last = ""
    while True:
        more = {"Last_Event_ID": last} if last else {}
        try:
            with request(path, Accept="text/event-stream", **more) as stream:
                if stream.status == 204:  # no more events follow
                    return
                for line in stream:
                    field, _, value = line.decode().rstrip("\n").partition(": ")
                    if field == "id":
                        last = value
                    elif field == "data":
                        yield json.loads(value)
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise SystemExit(json.load(error)["detail"]) from None
            time.sleep(1)
        except OSError:
            time.sleep(1)


def main() -> int:
    task = submit(sys.argv[1])
    print(f"task {task} is submitted")
    status = ""
    for event in events(f"/tasks/{task}/events"):
        status = event["status"]
        reason = f" ({event['reason']})" if event.get("reason") else ""
        print(f"task {task} is {status}{reason}")
        if status in FINAL:
            break
    with request(f"/tasks/{task}/logs?follow=false") as log:
        sys.stdout.write(log.read().decode())
    return 0 if status == "completed" else 1


if __name__ == "__main__":
    sys.exit(main())
