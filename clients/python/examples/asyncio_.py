"""The client on asyncio: several tasks at the same time, each with its log.

Run: python3 asyncio_.py, after `k8s-cli auth login`.
"""

import asyncio

from k8s_cli.aio import Client, Job


async def follow(job: Job) -> str:
    async for line in job.logs():
        print(f"{job.name} | {line}", end="")
    status = await job.wait()
    return f"{job.name}: {status.status}"


async def main() -> None:
    async with Client() as client:
        fast = await client.submit(run="echo fast", name="fast", cpus=0.1)
        slow = await client.submit(run="sleep 1; echo slow", name="slow", cpus=0.1)
        for result in await asyncio.gather(follow(fast), follow(slow)):
            print(result)


if __name__ == "__main__":
    asyncio.run(main())
