"""Archives of files and directories. Equal content gives equal archives: the entries are sorted, have
no owners, and their times are whole seconds."""

import gzip
import hashlib
import os
import posixpath
import shutil
import stat
import subprocess
import tarfile
import tempfile
import time
from collections import OrderedDict
from typing import IO, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, cast

from . import _ignore
from .errors import TaskUnusable

WORKDIR = "~/sky_workdir"  # destination of an uploaded working directory
_SINGLE = ".k8s-cli-file"  # name of the entry of the archive of a single file


class Archive(NamedTuple):
    """A compressed tar file on this machine."""

    path: str  # empty if the file does not exist any more
    sha256: str
    size: int
    skipped: Tuple[str, ...]  # neither a file, nor a directory, nor a link

    def remove(self) -> None:
        try:
            os.remove(self.path)
        except FileNotFoundError:
            pass


class _Entry(NamedTuple):
    path: str  # on this machine
    name: str  # in the archive
    info: os.stat_result


class _Tree:
    """The content of an archive, in the order of the archive."""

    def __init__(self, root: str, tracked: bool) -> None:
        self.entries: List[_Entry] = []
        self.sizes: Dict[str, int] = {}  # bytes of each file or directory at the top level
        self.skipped: List[str] = []
        info = os.stat(root)
        if stat.S_ISREG(info.st_mode):
            self.entries.append(_Entry(root, _SINGLE, info))
            self.sizes[os.path.basename(root)] = info.st_size
            return
        self.entries.append(_Entry(root, ".", info))
        top = os.fsencode(root)
        self._dir(top, (), _ignore.selector(top, tracked))

    def key(self) -> bytes:
        """Returns a hash that differs if a file, its content or the choice of files has changed."""
        digest = hashlib.sha256()
        for path, name, i in self.entries:
            digest.update(repr((path, name, i.st_mode, i.st_size, i.st_mtime_ns, i.st_ctime_ns, i.st_ino, i.st_dev)).encode())
        return digest.digest()

    def _dir(self, directory: bytes, at: _ignore.Path, selector: _ignore.Selector) -> None:
        selector = selector.enter(directory, at)
        for item in sorted(os.listdir(directory)):
            path, name = os.path.join(directory, item), at + (item,)
            info = os.lstat(path)
            is_dir = stat.S_ISDIR(info.st_mode)
            shown = os.fsdecode(b"/".join(name))
            if not (is_dir or stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)):
                self.skipped.append(shown)  # git does not list it
                continue
            if item == _ignore.GIT or not selector.has(name, is_dir):
                continue
            self.entries.append(_Entry(os.fsdecode(path), shown, info))
            if is_dir:
                self._dir(path, name, selector)
            elif stat.S_ISREG(info.st_mode):
                first = os.fsdecode(name[0])
                self.sizes[first] = self.sizes.get(first, 0) + info.st_size


class _Limited:
    """A file that computes the size and the hash of what is written to it."""

    def __init__(self, to: IO[bytes], limit: int) -> None:
        self._to, self._limit = to, limit
        self.sha256, self.size = hashlib.sha256(), 0

    def write(self, data: bytes) -> int:
        self.size += len(data)
        if self._limit and self.size > self._limit:
            raise OverflowError
        self.sha256.update(data)
        return self._to.write(data)

    def flush(self) -> None:
        self._to.flush()


# The archives that this process has packed, without their files, by the key of the tree. An unchanged tree is not packed
# again.
_packed: "OrderedDict[bytes, Archive]" = OrderedDict()
_MAX_PACKED = 256
# Nanoseconds for which a file must have been unchanged when it is packed. A later change then has another time, however
# coarse the clock of the file system is.
_UNCHANGED = 2_000_000_000


def pack(path: str, limit: int = 0, tracked: bool = False, changed: Optional[int] = None, reuse: bool = False) -> Archive:
    """Creates the archive of a file or of the content of a directory.

    tracked disregards .gitignore files: the directory is a checkout, which has only tracked files.
    changed is the time of all entries, in seconds; None means their own. With reuse, the archive of a tree that did not
    change since an earlier call has no file.
    """
    began = time.time_ns()
    tree = _Tree(path, tracked)
    key = tree.key()
    known = _packed.get(key) if reuse else None
    if known and (not limit or known.size <= limit):
        return known
    handle, name = tempfile.mkstemp(prefix="k8s-cli-", suffix=".tar.gz")
    try:
        with os.fdopen(handle, "wb") as file:
            out = _Limited(file, limit)
            with gzip.GzipFile("", "wb", mtime=0, fileobj=cast(IO[bytes], out)) as compressed:
                with tarfile.TarFile(fileobj=cast(IO[bytes], compressed), mode="w", format=tarfile.PAX_FORMAT) as tar:
                    for entry in tree.entries:
                        _add(tar, entry, changed)
    except BaseException as err:
        os.remove(name)
        if isinstance(err, OverflowError):
            raise _too_large(path, limit, tree.sizes) from None
        raise
    archive = Archive(name, out.sha256.hexdigest(), out.size, tuple(tree.skipped))
    if changed is None and all(max(e.info.st_mtime_ns, e.info.st_ctime_ns) <= began - _UNCHANGED for e in tree.entries):
        _packed[key] = archive._replace(path="")
        if len(_packed) > _MAX_PACKED:
            _packed.popitem(last=False)
    return archive


def _add(archive: tarfile.TarFile, entry: _Entry, changed: Optional[int]) -> None:
    header = tarfile.TarInfo(entry.name)
    header.mtime = int(entry.info.st_mtime) if changed is None else changed
    mode = entry.info.st_mode
    header.mode = mode & 0o777
    if stat.S_ISDIR(mode):
        header.type, header.mode = tarfile.DIRTYPE, header.mode | 0o700
    elif stat.S_ISLNK(mode):
        header.type, header.linkname, header.mode = tarfile.SYMTYPE, os.readlink(entry.path), 0o777
    else:
        header.size = entry.info.st_size
        with open(entry.path, "rb") as file:
            archive.addfile(header, file)
        return
    archive.addfile(header)


def _too_large(path: str, limit: int, sizes: Mapping[str, int]) -> TaskUnusable:
    largest = sorted(sizes, key=lambda name: (-sizes[name], name))[:3]
    named = ", ".join(f"{name} ({format_size(sizes[name])})" for name in largest)
    return TaskUnusable(
        f"{path} exceeds the packed size limit of the server, {format_size(limit)}; the largest entries are: {named}. "
        f"Exclude files with a .skyignore, or store them on a volume"
    )


def format_size(size: float) -> str:
    """Formats a number of bytes for people."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.0f} {units[0]}" if units[0] == "B" or size >= 10 else f"{size:.1f} {units[0]}"


def in_image(path: str) -> bool:
    """Reports whether a path is written as a path in the image."""
    return path.startswith("/") or path == "~" or path.startswith("~/")


def is_local(workdir: str) -> bool:
    """Reports whether workdir is a directory on this machine; otherwise it is a path in the image."""
    directory = expand(workdir)
    if not workdir or directory == "/":
        return False
    if os.path.isdir(directory):
        return True
    if os.path.exists(directory):
        raise TaskUnusable(f"workdir: {workdir!r} is not a directory", "workdir")
    if in_image(workdir):
        return False
    raise TaskUnusable(
        f"workdir: no directory {workdir!r} on this machine; a directory of the image begins with / or ~/", "workdir"
    )


def target_of(target: str, source: str) -> str:
    """Returns the path in a container to which source is copied.

    A relative target is below the working directory. A file is copied into a target that ends with a slash.
    """
    into = target.endswith("/")
    if not in_image(target):
        target = f"{WORKDIR}/{target}"
    if into and os.path.isfile(expand(source)):
        target = f"{target}/{os.path.basename(source)}"
    target = posixpath.normpath(target)
    return target[1:] if target.startswith("//") else target


def expand(path: str) -> str:
    """Replaces a leading ~ by the home directory of the user."""
    return os.path.expanduser(path) if path == "~" or path.startswith("~/") else path


def checkout(url: str, ref: str) -> str:
    """Checks out a commit into a new directory with the git program of the user. The caller removes the directory."""
    if url.startswith("-") or ref.startswith("-"):
        raise TaskUnusable(f"workdir: {ref!r} of {url!r} is not a valid git reference", "workdir")
    directory = tempfile.mkdtemp(prefix="k8s-cli-git-")
    try:
        _fetch(directory, os.path.abspath(url) if os.path.exists(url) else url, ref)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return directory


def _fetch(directory: str, source: str, ref: str) -> None:
    """Fetches only the commit if the server allows it, and otherwise all branches and tags."""
    _git(directory, "init", "--quiet")
    try:
        _git(directory, "fetch", "--quiet", "--depth", "1", "--", source, ref or "HEAD")
        _git(directory, "checkout", "--quiet", "FETCH_HEAD")
        return
    except TaskUnusable:
        if not ref:
            raise
    _git(directory, "fetch", "--quiet", "--tags", "--", source, "+refs/heads/*:refs/remotes/origin/*")
    for name in (ref, "refs/remotes/origin/" + ref):
        try:
            _git(directory, "checkout", "--quiet", "--detach", name, "--")
            return
        except TaskUnusable:
            continue
    raise TaskUnusable(f"workdir: {source} has no branch, tag or commit {ref!r}", "workdir")


def commit_time(directory: str) -> int:
    """Returns the time of the commit that is checked out in a directory, in seconds."""
    return int(_git(directory, "log", "-1", "--format=%ct"))


def _git(directory: str, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", directory, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError as err:
        raise TaskUnusable(f"workdir: run git: {err}", "workdir") from err
    if done.returncode != 0:
        said = done.stderr.strip().replace("\n", "; ") or f"exit code {done.returncode}"
        raise TaskUnusable(f"workdir: git {arguments[0]}: {said}", "workdir")
    return done.stdout
