"""Adds a number of every GPU on all of them."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
numbers = torch.ones(1, device=device)
dist.all_reduce(numbers)
print(f"rank {dist.get_rank()}: {int(numbers.item())} GPUs")
dist.destroy_process_group()
