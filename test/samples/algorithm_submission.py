"""The layout the platform gives an algorithm submission: `predictions.json` and one folder of outputs per job."""

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samples.same_bytes import write_image, write_json

SITE = "https://grand-challenge.org"


def random_id(rng: np.random.Generator) -> str:
    return str(uuid.UUID(bytes=rng.bytes(16), version=4))


@dataclass(frozen=True)
class JobFolder:
    """Collects the entries of one job and writes its output files as it goes."""

    root: Path
    pk: str
    rng: np.random.Generator

    @property
    def output(self) -> Path:
        return self.root / self.pk / "output"

    def input_image(self, slug: str, name: str) -> dict[str, Any]:
        return self.entry(image_socket(slug, kind="Image"), image={"pk": random_id(self.rng), "name": name})

    def output_image(self, slug: str, mask: NDArray[np.uint8]) -> dict[str, Any]:
        """The file's name is the image's pk: nothing but the job says which case it belongs to."""
        path = self.output / "images" / slug / f"{random_id(self.rng)}.mha"
        write_image(path, mask)
        return self.image_entry(slug, path)

    def image_entry(self, slug: str, path: Path) -> dict[str, Any]:
        """The entry of an output image that was written to `path`."""
        return self.entry(image_socket(slug, kind="Segmentation"), image={"pk": path.stem, "name": path.name})

    def output_value(self, slug: str, value: object) -> dict[str, Any]:
        """A small JSON answer, carried inside predictions.json."""
        return self.entry(json_socket(slug, kind="Integer", super_kind="Value"), value=value)

    def output_json_file(self, slug: str, value: object) -> dict[str, Any]:
        """The same answer as a file at the socket's relative path."""
        write_json(self.output / f"{slug}.json", value)
        url = f"{SITE}/media/components/{random_id(self.rng)}/{slug}.json"
        return self.entry(json_socket(slug, kind="Anything", super_kind="File"), file=url)

    def input_file(self, slug: str, name: str) -> dict[str, Any]:
        url = f"{SITE}/media/components/{random_id(self.rng)}/{name}"
        return self.entry(file_socket(slug, name), file=url)

    def output_file(self, slug: str, name: str) -> dict[str, Any]:
        """A file that was written to `self.output / name`."""
        return self.input_file(slug, name)

    def entry(self, interface: dict[str, Any], **content: object) -> dict[str, Any]:
        number = int(self.rng.integers(100_000, 999_999))
        return {"pk": number, "interface": interface, "value": None, "file": None, "image": None, **content}

    def job(
        self,
        *,
        inputs: list[dict[str, Any]],
        outputs: list[dict[str, Any]],
        exec_duration: str | None,
        invoke_duration: str | None,
    ) -> dict[str, Any]:
        return {
            "pk": self.pk,
            "url": f"{SITE}/api/v1/algorithms/jobs/{self.pk}/",
            "status": "Succeeded",
            "inputs": inputs,
            "outputs": outputs,
            "exec_duration": exec_duration,
            "invoke_duration": invoke_duration,
        }


def image_socket(slug: str, *, kind: str) -> dict[str, Any]:
    title = slug.replace("-", " ").capitalize()
    return {"slug": slug, "title": title, "kind": kind, "super_kind": "Image", "relative_path": f"images/{slug}"}


def json_socket(slug: str, *, kind: str, super_kind: str) -> dict[str, Any]:
    title = slug.replace("-", " ").capitalize()
    return {"slug": slug, "title": title, "kind": kind, "super_kind": super_kind, "relative_path": f"{slug}.json"}


def file_socket(slug: str, relative_path: str) -> dict[str, Any]:
    title = slug.replace("-", " ").capitalize()
    return {"slug": slug, "title": title, "kind": "Anything", "super_kind": "File", "relative_path": relative_path}
