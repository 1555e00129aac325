"""Archives of the outputs of tasks."""

import hashlib
import os
import shutil
import tarfile
import tempfile
from typing import List, Union

from .errors import Error, FilesExist

Directory = Union[str, "os.PathLike[str]"]


class Download:
    """An archive that arrives, in a temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()
        self.restart()

    def restart(self) -> None:
        """Forgets what has arrived."""
        self._file.seek(0)
        self._file.truncate()
        self._sum = hashlib.sha256()
        self.size = 0  # bytes that have arrived

    def write(self, data: bytes) -> None:
        self._sum.update(data)
        self._file.write(data)
        self.size += len(data)

    def check(self, sha256: str) -> None:
        """Raises an error if the SHA-256 of the archive is another one."""
        if self._sum.hexdigest() != sha256:
            raise Error(f"the SHA-256 of the outputs is {self._sum.hexdigest()}, and the server has {sha256}; download them again")

    def unpack(self, directory: Directory, force: bool) -> List[str]:
        """Writes the files below directory, and returns their paths.

        Unless force is set, unpack writes nothing if one of the files exists. It rejects entries that lead out of the
        directory, and leaves out links that do.
        """
        top = os.fspath(directory)
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        if os.path.islink(top.rstrip(os.sep)):
            raise Error(f"{top} is a symbolic link; remove the link, or name its target")
        with tarfile.open(fileobj=self._file, mode="r:gz") as archive:
            members = archive.getmembers()
            if sum(m.size for m in members) > max(_MIN_UNPACKED, _MAX_RATIO * size):
                raise Error(f"the archive of {size} bytes contains much larger files; if you trust it, download and unpack it yourself")
            files = [m.name for m in members if m.isreg() or m.islnk() or m.issym()]
            for name in files:
                if not force and os.path.lexists(os.path.join(top, name)):
                    raise FilesExist(f"{os.path.join(top, name)} exists; pass force=True to overwrite files")
            os.makedirs(top, exist_ok=True)
            files = [m.name for m in members if _extract(archive, m, top)]
        return [os.path.join(top, name) for name in files]

    def close(self) -> None:
        self._file.close()


# The size of the files that an archive may contain, in bytes: _MIN_UNPACKED, or _MAX_RATIO times the size of the archive
# if that is more. gzip can compress zeros to a thousandth.
_MIN_UNPACKED = 4 << 30
_MAX_RATIO = 100


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, top: str) -> bool:
    """Writes an entry of an archive below top, and follows no link. The filters of tarfile are not in every Python.

    It leaves out special files and links that lead out of top. It returns whether it wrote a file or a link.
    """
    parts = [part for part in member.name.split("/") if part not in ("", ".")]
    if member.name.startswith("/") or ".." in parts or any(os.sep in part or ":" in part and os.name == "nt" for part in parts):
        raise Error(f"the archive contains {member.name!r}, which is outside of {top}")
    path = top
    for part in parts if member.isdir() else parts[:-1]:
        path = os.path.join(path, part)
        if not os.path.lexists(path):
            os.mkdir(path)
        elif os.path.islink(path) or not os.path.isdir(path):
            raise Error(f"the archive contains files below {path}, which is not a directory")
    if member.isdir() or not parts:
        return False
    path = os.path.join(path, parts[-1])
    if os.path.lexists(path):
        os.remove(path)
    if member.issym():
        if not _stays(parts[:-1], member.linkname):
            return False
        os.symlink(member.linkname, path)
        return True
    source = member
    if member.islnk():
        try:
            source = archive.getmember(member.linkname)
        except KeyError:
            return False
    content = archive.extractfile(source) if source.isreg() else None
    if content is None:
        return False
    with content, open(path, "xb") as file:
        shutil.copyfileobj(content, file)
    os.chmod(path, source.mode & 0o755 | 0o600)
    return True


def _stays(parents: List[str], target: str) -> bool:
    """Says whether a symbolic link in these directories leads to a place below their top, whatever other links lead to."""
    depth = len(parents)
    down = False
    for part in target.split("/"):
        if part == "..":
            if down:
                return False
            depth -= 1
        elif part not in ("", "."):
            down = True
    return not target.startswith("/") and depth >= 0 and os.sep == "/"
