#!/usr/bin/env python3
"""Writes wheels of the client, with the standard library only.

    wheel.py --out DIRECTORY --version 1.2.3 [--program k8s-cli --platform linux/amd64]

With a program, the wheel contains the program as a script and is for one platform. Equal arguments and sources give equal
bytes with the same version of zlib. All files have the time SOURCE_DATE_EPOCH.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import re
import time
import zipfile
from typing import List, Optional, Tuple

HERE = pathlib.Path(__file__).resolve().parent
TAGS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",  # the program is static
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_11_0_x86_64",
    "darwin/arm64": "macosx_11_0_arm64",
    "windows/amd64": "win_amd64",
    "windows/arm64": "win_arm64",
}
Entry = Tuple[str, bytes, int]  # path, content, mode


def pep440(version: str) -> str:
    """Returns a semantic version in the form of PEP 440. The hash of a commit becomes a local version."""
    number, _, pre = version.partition("-")
    if not pre:
        return number
    candidate = re.fullmatch(r"(alpha|beta|rc)\.?(\d+)", pre)
    if candidate:
        return number + {"alpha": "a", "beta": "b", "rc": "rc"}[candidate.group(1)] + candidate.group(2)
    return f"{number}.dev0+{re.sub('[^A-Za-z0-9]+', '.', pre).lower()}"


def metadata(version: str) -> bytes:
    """Returns the metadata of the wheel, with the fields of pyproject.toml."""
    project = dict(re.findall(r'^([a-z-]+) = "(.*)"$', (HERE / "pyproject.toml").read_text("utf-8"), re.MULTILINE))
    head = {
        "Metadata-Version": "2.1",
        "Name": project["name"],
        "Version": version,
        "Summary": project["description"],
        "Requires-Python": project["requires-python"],
        "Classifier": "Typing :: Typed",
        "License": "Apache-2.0",
        "License-File": "LICENSE",
        "Description-Content-Type": "text/markdown",
    }
    text = "".join(f"{name}: {value}\n" for name, value in head.items())
    extras = re.findall(r'^(\w+) = \["(PyYAML[^"]*)"\]$', (HERE / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    for extra, needs in extras:
        text += f'Provides-Extra: {extra}\nRequires-Dist: {needs}; extra == "{extra}"\n'
    return (text + "\n" + (HERE / "README.md").read_text("utf-8")).encode()


def entries(version: str, tag: str, program: Optional[pathlib.Path]) -> List[Entry]:
    """Returns the files of the wheel."""
    found: List[Entry] = []
    for path in sorted((HERE / "k8s_cli").rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            content = path.read_bytes()
            if path.name == "_version.py":
                content = re.sub(rb'VERSION = ".*"', f'VERSION = "{version}"'.encode(), content)
            found.append((path.relative_to(HERE).as_posix(), content, 0o644))
    info = f"k8s_cli-{version}.dist-info/"
    if program:
        found.append((f"k8s_cli-{version}.data/scripts/{program.name}", program.read_bytes(), 0o755))
    pure = "false" if program else "true"
    wheel = f"Wheel-Version: 1.0\nGenerator: k8s-cli wheel.py\nRoot-Is-Purelib: {pure}\n"
    wheel += "".join(f"Tag: py3-none-{platform}\n" for platform in tag.split("."))
    found.append((info + "LICENSE", (HERE.parents[1] / "LICENSE").read_bytes(), 0o644))
    found.append((info + "METADATA", metadata(version), 0o644))
    found.append((info + "WHEEL", wheel.encode(), 0o644))
    record = "".join(f"{path},sha256={digest(content)},{len(content)}\n" for path, content, _ in found)
    found.append((info + "RECORD", f"{record}{info}RECORD,,\n".encode(), 0o644))
    return found


def digest(content: bytes) -> str:
    """Returns a hash in the form of RECORD."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def write(out: pathlib.Path, version: str, program: Optional[pathlib.Path], platform: str) -> pathlib.Path:
    """Writes a wheel and returns its path."""
    version, tag = pep440(version), TAGS[platform] if program else "any"
    path = out / f"k8s_cli-{version}-py3-none-{tag}.whl"
    at = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")))[:6]  # zip has no times before 1980
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, content, mode in entries(version, tag, program):
            file = zipfile.ZipInfo(name, at)
            file.create_system, file.external_attr = 3, (0o100000 | mode) << 16
            file.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(file, content)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="directory of the wheel")
    parser.add_argument("--version", default="0.0.0", help="semantic version")
    parser.add_argument("--program", type=pathlib.Path, help="the CLI, which the wheel installs as a script")
    parser.add_argument("--platform", choices=sorted(TAGS), help="system/machine of the program")
    arguments = parser.parse_args()
    if bool(arguments.program) != bool(arguments.platform):
        parser.error("--program and --platform belong together")
    arguments.out.mkdir(parents=True, exist_ok=True)
    print(write(arguments.out, arguments.version, arguments.program, arguments.platform or ""))


if __name__ == "__main__":
    main()
