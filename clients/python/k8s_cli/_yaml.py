"""Task files in YAML, with PyYAML, by the rules of the server.

To the server, the scalars of a task file are texts: a number or a bool in JSON is the same as its text. Therefore the
types that YAML 1.1 gives to scalars, such as yes, 012 and 1.10, do not count. A scalar becomes a number or a bool only
if JSON writes it with the same text.
"""

import importlib
import math
import re
from typing import Any, Dict, List, Type, Union

from .errors import TaskUnusable

EXTRA = "pip install PyYAML"
_TAG = "tag:yaml.org,2002:"
_SCALARS = ("str", "int", "float", "bool", "timestamp")


class Unreadable(TaskUnusable):
    """Only the server can read the text."""


def _pyyaml() -> Any:
    """Returns the module of PyYAML, or None. A directory yaml in the path is a module too."""
    try:
        module = importlib.import_module("yaml")
    except ImportError:
        return None
    return module if hasattr(module, "SafeLoader") else None


def installed() -> bool:
    """Reports whether PyYAML is installed."""
    return _pyyaml() is not None


def has_several(text: str) -> bool:
    """Reports whether a task file seems to have several documents, without PyYAML."""
    parts = re.split(r"^(?:---|\.\.\.)(?=\s|$)", text, flags=re.MULTILINE)
    return sum(bool(re.search(r"^\s*[^\s#%]", part, re.MULTILINE)) for part in parts) > 1


def one(text: str) -> Dict[str, Any]:
    """Returns the fields of a task file with one document."""
    found = documents(text)
    if len(found) > 1:
        raise several()
    return found[0] if found else {}


def several() -> TaskUnusable:
    """Returns the error for a file of several tasks in the place of a task."""
    return TaskUnusable("the file has several documents: it is a pipeline or a job group; submit it with Client.submit_file")


def documents(text: str) -> List[Dict[str, Any]]:
    """Returns the documents of a task file that are not empty."""
    if not installed():
        raise Unreadable(f"reading YAML needs PyYAML: {EXTRA}; or give the fields as keywords or as a dict")
    yaml = _pyyaml()
    try:
        found = [d for d in yaml.load_all(text.lstrip("\ufeff"), _loader(yaml)) if d is not None]
    except yaml.YAMLError as err:
        mark = getattr(err, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        raise Unreadable(f"the task file is not valid YAML: {getattr(err, 'problem', None) or err}{line}") from None
    for each in found:
        if not isinstance(each, dict):
            raise Unreadable("a task must be a mapping of fields, and not a single value or a list")
    return found


def _loader(yaml: Any) -> Type[Any]:
    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        yaml_implicit_resolvers: Dict[str, Any] = {}

    def wrong(node: Any, text: str) -> Exception:
        error: Exception = yaml.MarkedYAMLError(problem=text, problem_mark=node.start_mark)
        return error

    def scalar(loader: Any, node: Any) -> Any:
        text = str(loader.construct_scalar(node))
        return _value(text) if node.style is None else text

    def mapping(loader: Any, node: Any) -> Dict[str, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise wrong(node, "the YAML tag does not match its value")
        keys = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == _TAG + "null":
                raise wrong(key, "a key must be a single value")
            if key.value in keys:
                raise wrong(key, f"duplicate key {key.value!r}")
            keys.add(key.value)
        loader.flatten_mapping(node)  # <<
        return {key.value: loader.construct_object(value, deep=True) for key, value in node.value}

    def items(loader: Any, node: Any) -> List[Any]:
        found: List[Any] = loader.construct_sequence(node, deep=True)
        return found

    Loader.add_implicit_resolver(_TAG + "null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
    Loader.add_implicit_resolver(_TAG + "merge", re.compile(r"^<<$"), ["<"])
    for name in _SCALARS:
        Loader.add_constructor(_TAG + name, scalar)
    for name in ("map", "set"):
        Loader.add_constructor(_TAG + name, mapping)
    Loader.add_constructor(_TAG + "seq", items)
    Loader.add_constructor(_TAG + "binary", Loader.construct_undefined)
    return Loader


def _value(text: str) -> Union[str, int, float, bool]:
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?\d{1,18}", text) and str(int(text)) == text:
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+", text) and repr(float(text)) == text and math.isfinite(float(text)):
        return float(text)
    return text
