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
        return self.entry(socket(slug, "Image", "Image"), image={"pk": random_id(self.rng), "name": name})

    def output_image(self, slug: str, mask: NDArray[np.uint8]) -> dict[str, Any]:
        """The file's name is the image's pk: nothing but the job says which case it belongs to."""
        path = self.output / "images" / slug / f"{random_id(self.rng)}.mha"
        write_image(path, mask)
        return self.image_entry(slug, path)

    def image_entry(self, slug: str, path: Path) -> dict[str, Any]:
        """The entry of an output image that was written to `path`."""
        return self.entry(socket(slug, "Segmentation", "Image"), image={"pk": path.stem, "name": path.name})

    def output_value(self, slug: str, value: object) -> dict[str, Any]:
        """A small JSON answer, carried inside predictions.json."""
        return self.entry(socket(slug, "Integer", "Value"), value=value)

    def output_json_file(self, slug: str, value: object) -> dict[str, Any]:
        """The same answer as a file at the socket's relative path."""
        write_json(self.output / f"{slug}.json", value)
        return self.file(slug, f"{slug}.json")

    def file(self, slug: str, name: str) -> dict[str, Any]:
        """An input, or an output that was written to `self.output / name`."""
        url = f"{SITE}/media/components/{random_id(self.rng)}/{name}"
        return self.entry(socket(slug, "Anything", "File", name), file=url)

    def entry(self, interface: dict[str, Any], **content: object) -> dict[str, Any]:
        number = int(self.rng.integers(100_000, 999_999))
        return {"pk": number, "interface": interface, "value": None, "file": None, "image": None, **content}

    def job(
        self,
        *,
        inputs: list[dict[str, Any]],
        outputs: list[dict[str, Any]],
        exec_duration: str | None = None,
        invoke_duration: str | None = None,
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


def socket(slug: str, kind: str, super_kind: str, relative_path: str = "") -> dict[str, Any]:
    """By default with the path that the platform gives an image or JSON."""
    title = slug.replace("-", " ").capitalize()
    path = relative_path or (f"images/{slug}" if super_kind == "Image" else f"{slug}.json")
    return {"slug": slug, "title": title, "kind": kind, "super_kind": super_kind, "relative_path": path}
