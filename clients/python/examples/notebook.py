# The cells of a notebook, in the percent format of Jupytext, VS Code and Spyder. The tests do not run this example, because
# it needs IPython.

# %%
from k8s_cli import Client, Task

client = Client()

# %% A job as the last line of a cell shows its status, and keeps it up to date until the task is over.
job = client.submit(run="for i in 1 2 3; do echo step $i; sleep 2; done", name="notebook", cpus=0.1)
job

# %% The log arrives while the cell runs. Interrupt the cell to leave the log; the task goes on.
for line in job.logs():
    print(line, end="")

# %% A group shows its progress.
sweep = client.map(Task("sleep $SECONDS_", name="nap", cpus=0.1), {"SECONDS_": [1, 2, 3]})
sweep
