"""Archives of the outputs of tasks."""

import hashlib
import os
import shutil
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
        top = os.fspath(directory)
        self._file.seek(0)
        with tarfile.open(fileobj=self._file, mode="r:gz") as archive:
            files = [m.name for m in archive.getmembers() if not m.isdir()]
            for name in files:
                if not force and os.path.lexists(os.path.join(top, name)):
                    raise Error(f"{os.path.join(top, name)} exists; pass force=True to overwrite files")
            os.makedirs(top, exist_ok=True)
            if hasattr(tarfile, "data_filter"):
                options: Any = {"filter": "data"}
                archive.extractall(top, **options)
            else:
                for member in archive.getmembers():
                    _extract(archive, member, top)
        return [os.path.join(top, name) for name in files]

    def close(self) -> None:
        self._file.close()


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, top: str) -> None:
    """Writes a file or a directory, for a Python without the filters of tarfile. It leaves out links and special files."""
    path = os.path.join(top, member.name)
    parent = os.path.realpath(path if member.isdir() else os.path.dirname(path))
    root = os.path.realpath(top)
    if os.path.isabs(member.name) or os.path.commonpath([root, parent]) != root:
        raise Error(f"the archive contains {member.name!r}, which is outside of {top}")
    os.makedirs(parent, exist_ok=True)
    content = archive.extractfile(member) if member.isreg() else None
    if content is None:
        return
    if os.path.lexists(path):
        os.remove(path)
    with content, open(path, "xb") as file:
        shutil.copyfileobj(content, file)
    os.chmod(path, member.mode & 0o755 | 0o600)
