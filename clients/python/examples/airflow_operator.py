"""An operator for Apache Airflow that runs one task. The tests do not run this example, because it needs Airflow.

    train = K8sCliOperator(task_id="train", task={"run": "python3 train.py", "workdir": ".", "resources": {"cpus": 4}})
"""

from typing import Any, Dict, Optional

from airflow.exceptions import AirflowFailException
from airflow.models import BaseOperator

from k8s_cli import Client, Job, errors


class K8sCliOperator(BaseOperator):
    """Submits a task, prints its log, and fails if the task fails.

    The key of the submission is the attempt of Airflow, so a worker that Airflow replaces finds the task instead of
    submitting it again.
    """

    template_fields = ("task",)

    def __init__(self, *, task: Dict[str, Any], url: Optional[str] = None, user: Optional[str] = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.task, self.url, self.user = task, url, user
        self._job: Optional[Job] = None

    def execute(self, context: Any) -> str:
        instance = context["ti"]
        key = f"airflow/{instance.dag_id}/{instance.task_id}/{instance.run_id}/{instance.map_index}/{instance.try_number}"
        self._job = Client(self.url, user=self.user).submit(self.task, key=key)
        for line in self._job.logs():
            self.log.info(line.rstrip("\n"))
        try:
            self._job.wait(check=True)
        except errors.TaskFailed as err:
            raise AirflowFailException(err.detail) from err
        return self._job.id

    def on_kill(self) -> None:
        if self._job:
            self._job.stop()
