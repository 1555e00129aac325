"""The patterns of .skyignore and .gitignore files, with the semantics of the CLI."""

import functools
import re
from typing import List, Optional, Pattern, Sequence


class Rule:
    """One line of a file of patterns in the directory domain below the top."""

    def __init__(self, line: str, domain: Sequence[str]) -> None:
        self._domain = tuple(domain)
        self.include = line.startswith("!")
        if self.include:
            line = line[1:]
        if not line.endswith("\\ "):
            line = line.rstrip(" ")
        self._dir_only = line.endswith("/")
        if self._dir_only:
            line = line[:-1]
        self._rooted = "/" in line
        self._parts = line.split("/")

    def matches(self, path: Sequence[str], is_dir: bool) -> bool:
        """Reports whether the rule decides about a path, given by its parts below the top."""
        depth = len(self._domain)
        if len(path) <= depth or tuple(path[:depth]) != self._domain:
            return False
        below = list(path[depth:])
        return self._matches_path(below, is_dir) if self._rooted else self._matches_name(below, is_dir)

    def _matches_name(self, path: List[str], is_dir: bool) -> bool:
        for i, name in enumerate(path):
            if _glob(self._parts[0], name):
                return not (self._dir_only and not is_dir and i == len(path) - 1)
        return False

    def _matches_path(self, path: List[str], is_dir: bool) -> bool:
        matched = anywhere = False
        for i, part in enumerate(self._parts):
            if part == "":
                anywhere = False
                continue
            if part == "**":
                if i == len(self._parts) - 1:
                    break
                anywhere = True
                continue
            if "**" in part or not path:
                return False
            if anywhere:
                anywhere = False
                matched, path = _skip_to(part, path, matched)
            elif _glob(part, path[0]):
                matched, path = True, path[1:]
            else:
                return False
        return matched and not (self._dir_only and not is_dir and not path)


def _skip_to(part: str, path: List[str], matched: bool) -> "tuple[bool, List[str]]":
    """Returns the rest of path after the first name that matches part."""
    while path:
        name, path = path[0], path[1:]
        if _glob(part, name):
            return True, path
        if not path:
            matched = False
    return matched, path


def parse(text: str, domain: Sequence[str] = ()) -> List[Rule]:
    """Returns the rules of a file."""
    rules = []
    for line in text.split("\n"):
        line = line[:-1] if line.endswith("\r") else line
        if line.startswith("./"):  # rsync and many users write ./ at the beginning
            line = line[1:]
        if line and not line.startswith("#"):
            rules.append(Rule(line, domain))
    return rules


def ignores(rules: Sequence[Rule], path: Sequence[str], is_dir: bool) -> bool:
    """Reports whether the last rule that matches excludes the path."""
    for rule in reversed(rules):
        if rule.matches(path, is_dir):
            return not rule.include
    return False


def _glob(pattern: str, name: str) -> bool:
    compiled = _compile(pattern)
    return compiled is not None and compiled.match(name) is not None


@functools.lru_cache(maxsize=4096)
def _compile(pattern: str) -> Optional[Pattern[str]]:
    """Translates a pattern of Go's filepath.Match. None stands for a malformed pattern, which matches nothing."""
    out, i = [], 0
    while i < len(pattern):
        c = pattern[i]
        i += 1
        if c == "*":
            out.append("[^/]*")
        elif c == "?":
            out.append("[^/]")
        elif c == "[":
            item, i = _brackets(pattern, i)
            if item is None:
                return None
            out.append(item)
        elif c == "\\":
            if i == len(pattern):
                return None
            out.append(re.escape(pattern[i]))
            i += 1
        else:
            out.append(re.escape(c))
    return re.compile("".join(out) + r"\Z", re.DOTALL)


def _brackets(pattern: str, i: int) -> "tuple[Optional[str], int]":
    """Translates a character class that begins before position i. Returns the position after the class."""
    negated = pattern[i : i + 1] == "^"
    i += negated
    ranges: List[str] = []
    while True:
        if pattern[i : i + 1] == "]" and ranges:
            inside = "".join(ranges)
            if negated:
                return f"[^/{inside}]", i + 1
            return f"[{inside}]" if inside else "(?!)", i + 1
        low, i = _character(pattern, i)
        high = low
        if low and pattern[i : i + 1] == "-":
            high, i = _character(pattern, i + 1)
        if not low or not high:
            return None, i
        if low <= high:
            ranges.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            ranges.append("")  # an empty range matches no character


def _character(pattern: str, i: int) -> "tuple[str, int]":
    """Returns the character of a class at position i, and the position after it; "" if malformed."""
    c = pattern[i : i + 1]
    if c in ("", "-", "]"):
        return "", i
    if c == "\\":
        c, i = pattern[i + 1 : i + 2], i + 1
    return c, i + 1
