"""Which entries of a directory are uploaded: what git does not ignore, or what a .skyignore file does
not exclude. The semantics are those of the CLI."""

import os
import re
import shutil
import subprocess
import tempfile
from typing import Dict, List, NamedTuple, Optional, Pattern, Sequence, Set, Tuple, Union

SKY_IGNORE, GIT_IGNORE, GIT = b".skyignore", b".gitignore", b".git"

Path = Tuple[bytes, ...]  # of an entry, below the top


class Rule(NamedTuple):
    """A line of a .gitignore or .skyignore file. The format is that of git (gitignore(5))."""

    depth: int  # of the directory of the file, below the top
    include: bool
    dir_only: bool
    base: bool  # the pattern is for the last element of a path
    form: Pattern[bytes]

    def matches(self, at: Path, is_dir: bool) -> bool:
        if self.dir_only and not is_dir:
            return False
        return self.form.match(at[-1] if self.base else b"/".join(at[self.depth :])) is not None


def parse(text: bytes, depth: int = 0, sky: bool = False) -> List[Rule]:
    """Returns the rules of a file. sky means that ./ at the beginning of a line is the top, as for rsync."""
    rules = []
    for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        line = line.removesuffix(b"\r")
        if sky and line.startswith(b"./"):
            line = line[1:]
        while line.endswith(b" ") and not line.endswith(b"\\ "):
            line = line[:-1]
        if not line or line.startswith(b"#"):
            continue
        include, dir_only = line.startswith(b"!"), line.endswith(b"/")
        line = line.removeprefix(b"!").removesuffix(b"/")
        if not line:
            continue
        try:
            rules.append(Rule(depth, include, dir_only, b"/" not in line, re.compile(_expression(line.removeprefix(b"/")), re.DOTALL)))
        except re.error:
            continue
    return rules


def _expression(pattern: bytes) -> bytes:
    out, i = [], 0
    while i < len(pattern):
        rest, c = pattern[i:], pattern[i : i + 1]
        start = i == 0 or pattern[i - 1 : i] == b"/"
        if start and rest.startswith(b"**/"):
            out.append(b"(?:.*/)?")
            i += 3
        elif start and rest == b"**":
            out.append(b".+")
            i += 2
        elif c == b"*":
            out.append(b"[^/]*")
            i += len(rest) - len(rest.lstrip(b"*"))
        elif c == b"?":
            out.append(b"[^/]")
            i += 1
        elif c == b"[":
            item, i = _class(pattern, i)
            out.append(item)
        else:
            i += c == b"\\" and len(rest) > 1
            out.append(re.escape(pattern[i : i + 1]))
            i += 1
    return b"".join(out) + rb"\Z"


_CLASSES = {
    b"alpha": b"a-zA-Z", b"digit": b"0-9", b"alnum": b"a-zA-Z0-9", b"upper": b"A-Z", b"lower": b"a-z", b"space": rb"\s", b"blank": rb" \t",
    b"punct": rb"!-/:-@\[-`{-~", b"xdigit": b"0-9A-Fa-f", b"print": rb"\x20-\x7e", b"graph": rb"\x21-\x7e", b"cntrl": rb"\x00-\x1f\x7f",
}  # fmt: skip


def _class(pattern: bytes, begin: int) -> Tuple[bytes, int]:
    """Translates a class of characters. Returns the position after it. A class without its end matches nothing."""
    at = begin + 1
    negated = pattern[at : at + 1] in (b"!", b"^")
    first = at = at + negated
    out: List[bytes] = []
    while at < len(pattern):
        c = pattern[at : at + 1]
        end = pattern.find(b":]", at)
        if c == b"]" and at > first:
            return (b"[^/" if negated else b"[") + b"".join(out) + b"]", at + 1
        if pattern.startswith(b"[:", at) and end >= 0:
            out.append(_CLASSES.get(pattern[at + 2 : end], b""))
            at = end + 2
        elif c == b"\\" and at + 1 < len(pattern):
            out.append(re.escape(pattern[at + 1 : at + 2]))
            at += 2
        else:
            out.append(c if c == b"-" else re.escape(c))
            at += 1
    return b"(?!)", len(pattern)


class ByRules:
    """Selects by files of patterns: without git, and for .skyignore."""

    def __init__(self, rules: Sequence[Rule] = (), nested: bool = False) -> None:
        self._rules, self._nested = list(rules), nested

    def enter(self, directory: bytes, at: Path) -> "ByRules":
        more = read(os.path.join(directory, GIT_IGNORE), len(at)) if self._nested else None
        return ByRules(self._rules + more, True) if more else self

    def has(self, at: Path, is_dir: bool) -> bool:
        for rule in reversed(self._rules):
            if rule.matches(at, is_dir):
                return rule.include
        return True


def read(path: bytes, depth: int = 0) -> Optional[List[Rule]]:
    """Returns the rules of a file, or None if there is no such file."""
    try:
        with open(path, "rb") as file:
            return parse(file.read(), depth, os.path.basename(path) == SKY_IGNORE)
    except FileNotFoundError:
        return None


class _Refused(Exception):
    """git is missing, or refuses the repository of another user."""


class _ByGit:
    """Selects what git does not ignore, and directories that no pattern excludes."""

    def __init__(self, directory: bytes, top: Path = ()) -> None:
        self._top, self._directory = top, os.path.abspath(directory)
        self._env: Dict[str, str] = {k: v for k, v in os.environ.items() if k not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")}
        self._files: Set[bytes] = set()
        self._dirs: Set[bytes] = {b""}
        alone = None
        try:
            code, inside = self._git("rev-parse", "--is-inside-work-tree")
            if code != 0 or inside.strip() != b"true" or self._git("check-ignore", "--quiet", ".")[0] == 0:
                alone = tempfile.mkdtemp(prefix="k8s-cli-git-")
                self._env = {**self._env, "GIT_DIR": alone, "GIT_WORK_TREE": os.fsdecode(self._directory)}
                if self._git("init", "--quiet")[0] != 0:
                    raise _Refused
            code, listed = self._git("ls-files", "--cached", "--others", "--exclude-standard", "-z")
            if code != 0:
                raise _Refused
            for name in listed.split(b"\0"):
                self._files.add(name.removesuffix(b"/"))  # a repository in this one ends with /
                parent = os.path.dirname(name)
                while parent not in self._dirs:
                    self._dirs.add(parent)
                    parent = os.path.dirname(parent)
            self._add_directories()
        finally:
            if alone:
                shutil.rmtree(alone, ignore_errors=True)

    def _git(self, *arguments: str, data: bytes = b"") -> Tuple[int, bytes]:
        try:
            done = subprocess.run(
                ["git", "-C", os.fsdecode(self._directory), *arguments], env=self._env, input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as err:
            raise _Refused from err
        return done.returncode, done.stdout

    def _add_directories(self) -> None:
        level = [b""]
        while level:
            following: List[bytes] = []
            doubtful: List[bytes] = []
            for at in level:
                for item in os.scandir(os.path.join(self._directory, at)):
                    name = os.path.join(at, item.name)
                    if not item.is_dir(follow_symlinks=False) or item.name == GIT or name in self._files:
                        continue
                    (following if name in self._dirs else doubtful).append(name)
            if doubtful:
                code, ignored = self._git("check-ignore", "-z", "--stdin", data=b"\0".join(doubtful))
                if code not in (0, 1):  # 1: none
                    raise _Refused
                kept = [name for name in doubtful if name not in set(ignored.split(b"\0"))]
                self._dirs.update(kept)
                following += kept
            level = following

    def enter(self, directory: bytes, at: Path) -> "_ByGit":
        below = at[len(self._top) :]
        return _ByGit(directory, at) if below and b"/".join(below) in self._files else self

    def has(self, at: Path, is_dir: bool) -> bool:
        name = b"/".join(at[len(self._top) :])
        return name in self._files or is_dir and name in self._dirs


Selector = Union[ByRules, _ByGit]


def selector(root: bytes, tracked: bool) -> Selector:
    """Returns the selector of a directory. tracked means that the directory is a checkout, which has only tracked files."""
    sky = read(os.path.join(root, SKY_IGNORE))
    if sky is not None or tracked:
        return ByRules(sky or ())
    try:
        return _ByGit(root)
    except _Refused:
        return ByRules(nested=True)
