"""Archives of the outputs of tasks."""

import hashlib
import os
import tarfile
import tempfile
from typing import Any, List, Union

from .errors import Error

Directory = Union[str, "os.PathLike[str]"]


class Download:
    """An archive that arrives, in a temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()
        self._sum = hashlib.sha256()

    def write(self, data: bytes) -> None:
        self._sum.update(data)
        self._file.write(data)

    def check(self, sha256: str) -> None:
        """Raises an error if the SHA-256 of the archive is another one."""
        if self._sum.hexdigest() != sha256:
            raise Error(f"the SHA-256 of the outputs is {self._sum.hexdigest()}, and the server has {sha256}; download them again")

    def unpack(self, directory: Directory, force: bool) -> List[str]:
        """Writes the files below directory, and returns their paths.

        Unless force is set, unpack writes nothing if one of the files exists. It rejects entries and links that lead
        out of the directory.
        """
        if not hasattr(tarfile, "data_filter"):
            raise Error("this Python cannot unpack archives safely; update it, or use k8s-cli jobs download")
        top = os.fspath(directory)
        self._file.seek(0)
        with tarfile.open(fileobj=self._file, mode="r:gz") as archive:
            files = [m.name for m in archive.getmembers() if not m.isdir()]
            for name in files:
                if not force and os.path.lexists(os.path.join(top, name)):
                    raise Error(f"{os.path.join(top, name)} exists; pass force=True to overwrite files")
            os.makedirs(top, exist_ok=True)
            options: Any = {"filter": "data"}
            archive.extractall(top, **options)
        return [os.path.join(top, name) for name in files]

    def close(self) -> None:
        self._file.close()
