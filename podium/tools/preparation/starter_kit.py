"""A challenge.toml from the starter kit that the platform generates for a phase: a table of values for every output.

The kit's `predictions.json` names every socket of the phase. What no kit can know, such as the labels of a
segmentation, becomes a comment: until it is filled in, `podium check` lists it as missing.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.challenges.declared.values import VALUE_KINDS, ValueSettings, value_kind
from podium.errors import UsageError, did_you_mean
from podium.readers.files import escape_for_display

_PREDICTIONS = re.compile(
    r"(?:(?P<phase>[^/]+)/)?example[-_]evaluation[-_]method/test/input/predictions\.json", re.IGNORECASE
)
_LONG_TEXT = 60  # characters of an example: a class has a shorter name
_ANY_JSON = "Anything"
_COMPLETE = (
    "# This is a complete challenge: change it step by step, and run `podium check` after every step. Lines such as"
)
_INCOMPLETE = "# The values are those of the starter kit: fill in what `podium check` lists as missing. Lines such as"
_MODELS = {kind: value_kind(kind)[0] for kind in VALUE_KINDS}
_KIND_OF_VALUE = {socket: kind for kind, model in reversed([*_MODELS.items()]) for socket in model.sockets}
"""Of every kind of socket, the first kind of value that it holds."""


@dataclass(frozen=True, kw_only=True)
class KitSocket:
    """A socket as a kit describes it; `kind` is empty where flags alone say whether it is an image, JSON or a file."""

    slug: str
    kind: str
    is_image: bool
    is_json: bool
    example: Any

    @property
    def value_kinds(self) -> Sequence[str]:
        """The kinds of values that it can hold, the likeliest first; none where nothing of ours reads it."""
        if self.kind and self.kind != _ANY_JSON:
            kinds = [_KIND_OF_VALUE[self.kind]] if self.kind in _KIND_OF_VALUE else []
            is_text = kinds == ["class"] and isinstance(self.example, str) and len(self.example) > _LONG_TEXT
            return ["text"] if is_text else kinds
        fitting = {kind: model for kind, model in _MODELS.items() if bool(model.is_image) == self.is_image}
        return list(fitting) if self.is_image or self.is_json else []

    @property
    def words(self) -> str:
        return f"'{self.slug}' ({self.kind or 'file'})"


@dataclass(frozen=True, kw_only=True)
class KitInterface:
    """The inputs and outputs of one kind of job."""

    inputs: Sequence[KitSocket]
    outputs: Sequence[KitSocket]


def read_kit(kit: Path, phase: str | None) -> Sequence[KitInterface]:
    """The interfaces of a phase, told apart by their inputs; `phase` is needed where a kit has several."""
    try:
        found = dict(_predictions(kit))
    except (OSError, zipfile.BadZipFile) as error:
        raise UsageError(f"{kit} cannot be read as a starter kit, a folder or a .zip: {error}") from None
    if not found:
        expected = "example-evaluation-method/test/input/predictions.json"
        raise UsageError(f"{kit} is not a starter kit of a phase with algorithms: it has no {expected}.")
    if phase is None and len(found) > 1:
        raise UsageError(f"{kit} has several phases; choose one with --phase: {', '.join(sorted(found))}.")
    chosen = next(iter(found)) if phase is None else phase
    if chosen not in found:
        meant = did_you_mean(chosen, found) or f"; there is: {', '.join(sorted(found))}."
        raise UsageError(f"{kit} has no phase '{escape_for_display(chosen)}'{meant}")
    try:
        jobs = [
            KitInterface(inputs=[*map(_socket, job["inputs"])], outputs=[*map(_socket, job["outputs"])])
            for job in json.loads(found[chosen])
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UsageError(f"predictions.json of the phase '{chosen}' in {kit} is not a list of jobs.") from None
    if not jobs:
        raise UsageError(f"The phase '{chosen}' takes no algorithms: its kit names no sockets. Use 'podium new' alone.")
    return list({frozenset(socket.slug for socket in job.inputs): job for job in jobs}.values())


def _predictions(kit: Path) -> Iterator[tuple[str, bytes]]:
    """The phases of a kit, each with the content of its predictions.json."""
    if kit.is_dir():
        for file in sorted(kit.resolve().rglob("predictions.json")):
            if match := _PREDICTIONS.search(file.as_posix()):
                yield match["phase"], file.read_bytes()
        return
    with zipfile.ZipFile(kit) as archive:
        for name in archive.namelist():
            if (match := _PREDICTIONS.search(name)) and name.endswith(match[0]):
                yield match["phase"] or kit.stem, archive.read(name)


def _socket(entry: Mapping[str, Any]) -> KitSocket:
    """Kits of 2026 have `socket` and flags, older ones `interface` with `kind` and `super_kind`."""
    about = entry.get("socket") or entry["interface"]
    path = str(about.get("relative_path", ""))
    example = about.get("example_value")
    return KitSocket(
        slug=str(about["slug"]),
        kind=str(about.get("kind") or ""),
        is_image=bool(about.get("is_image_kind")) or about.get("super_kind") == "Image",
        is_json=bool(about.get("is_json_kind")) or path.endswith(".json"),
        example=entry.get("value") if example is None else example,
    )


def case_inputs(interfaces: Sequence[KitInterface]) -> Sequence[str]:
    """The inputs whose image or file may name the case: one that all interfaces have, else one of each; none where an
    interface has only values, which have no name."""
    named = [
        [socket.slug for socket in sorted(each.inputs, key=lambda socket: not socket.is_image) if not socket.is_json]
        for each in interfaces
    ]
    common = [slug for slug in named[0] if all(slug in slugs for slugs in named)]
    return common[:1] or (list(dict.fromkeys(slugs[0] for slugs in named)) if all(named) else [])


def kit_challenge(interfaces: Sequence[KitInterface], template: str) -> tuple[str, Sequence[KitSocket]]:
    """A challenge.toml for these interfaces, and the outputs that no kind of value can read.

    `template` is the one of `podium new`: its comments stay, its metrics and formulas become comments.
    """
    outputs = {socket.slug: socket for interface in interfaces for socket in interface.outputs}
    readable = [socket for socket in outputs.values() if socket.value_kinds]
    head, _, rest = template.partition("[values.organs]\n")
    rest = rest[rest.index("# METRICS:") :]
    inputs = case_inputs(interfaces)
    given = json.dumps(inputs[0] if len(inputs) == 1 else inputs) if inputs else '"..."'
    head = head.replace('input = "ct-image"', f"{'' if inputs else '# '}input = {given}")
    parts = [_value(socket, interfaces, alone=len(readable) == 1) for socket in readable]
    unread = [socket for socket in outputs.values() if socket not in readable]
    parts += [f"# No kind of value reads the output {socket.words}.\n" for socket in unread]
    rest = re.sub(r"^(?=[^#\n])", "# ", rest, flags=re.MULTILINE)
    return head.replace(_COMPLETE, _INCOMPLETE) + "\n".join(parts) + "\n" + rest, unread


def _value(socket: KitSocket, interfaces: Sequence[KitInterface], *, alone: bool) -> str:
    """The table of a value; predictions and references have the same names, so that references can be submitted."""
    name = re.sub(r"\W", "_", socket.slug, flags=re.ASCII)
    name = name if name[:1].isalpha() else f"value_{name}"
    kinds = socket.value_kinds
    is_known = bool(socket.kind) and socket.kind != _ANY_JSON
    model: type[ValueSettings] = _MODELS[kinds[0]]
    kind = f'kind = "{kinds[0]}"' if is_known else f'# kind = "{kinds[0]}"   # or {", ".join(kinds[1:])}'
    lines = [f"[values.{name}]", kind, f'socket = "{socket.slug}"']
    if model.ending:
        file = f"{'' if alone else f'{socket.slug}/'}{{case}}{model.ending}"
        lines += [f'file = "{file}"', f'reference = "{file}"']
    else:
        lines += ['table = "predictions.csv"', f'column = "{name}"   # the references are in a table of the same name']
    lines += [f"# {line}" for line in model.to_fill_in]
    if not all(socket.slug in [each.slug for each in interface.outputs] for interface in interfaces):
        lines.append('expected = "where_referenced"   # not every interface has this output')
    return "\n".join(lines) + "\n"
