"""Prints what the image is made of, as a CycloneDX document: the base image, Debian's packages and Python's.

    python3 sbom.py --base NAME --digest DIGEST --version VERSION --debian STATUS REPORT...

Run while the image is built. REPORT is what `pip install --report` wrote: it has the hash of each file that was
installed. There is no time and no random number in the document: the same packages give the same bytes.
"""

import argparse
import json
import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

Component = dict[str, Any]
LONGEST_LICENCE_NAME = 80  # some packages give the whole text as the name


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--base", "--digest", "--version", "--debian"):
        parser.add_argument(name, required=True)
    parser.add_argument("--environment", default="/opt/venv/lib/python3.11/site-packages")
    parser.add_argument("reports", nargs="+", type=Path)
    given = parser.parse_args()
    components = [
        {"type": "container", "bom-ref": "base-image", "name": given.base, "version": given.digest},
        {"type": "application", "bom-ref": "python", "name": "CPython", "version": platform.python_version()},
        *python_packages(given.environment, installed_hashes(given.reports)),
        *debian_packages(Path(given.debian).read_text()),
    ]
    component: Component = {
        "type": "container",
        "bom-ref": "image",
        "name": "podium-evaluation",
        "version": given.version,
    }
    licences = [{"license": {"id": "Apache-2.0"}}]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**component, "licenses": licences}},
        "components": components,
    }
    json.dump(document, sys.stdout, indent=1, ensure_ascii=False)


def installed_hashes(reports: list[Path]) -> dict[str, str]:
    """Package -> SHA-256 of the file it was installed from."""
    items = [item for report in reports for item in json.loads(report.read_text())["install"]]
    return {
        normalized(item["metadata"]["name"]): item["download_info"]["archive_info"]["hash"].removeprefix("sha256=")
        for item in items
    }


def python_packages(environment: str, hashes: dict[str, str]) -> Iterator[Component]:
    for package in sorted(distributions(path=[environment]), key=lambda package: normalized(package.name)):
        name = normalized(package.name)
        purl = f"pkg:pypi/{name}@{package.version.replace('+', '%2B')}"
        component: Component = {"type": "library", "bom-ref": purl, "name": name, "version": package.version}
        component["hashes"] = [{"alg": "SHA-256", "content": hashes[name]}]
        if licence := licence_of(package):
            component["licenses"] = [licence]
        yield {**component, "purl": purl}


def licence_of(package: Distribution) -> Component | None:
    if expression := field(package, "License-Expression"):
        return {"expression": expression[0]}
    name = "".join(field(package, "License")[:1]).strip()
    if not name or "\n" in name or len(name) > LONGEST_LICENCE_NAME:
        classifiers = [text for text in field(package, "Classifier") if text.startswith("License :: ")]
        name = ", ".join(text.split(" :: ")[-1] for text in classifiers)
    return {"license": {"name": name}} if name else None


def field(package: Distribution, name: str) -> list[str]:
    return package.metadata.get_all(name) or []


def debian_packages(status: str) -> Iterator[Component]:
    """The packages of dpkg's list. It says nothing of licences: those are in /usr/share/doc of the image."""
    for entry in status.strip().split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", entry, re.MULTILINE))
        name, version, architecture = (fields[key] for key in ("Package", "Version", "Architecture"))
        purl = f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"
        yield {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main()
