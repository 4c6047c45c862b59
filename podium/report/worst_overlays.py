"""Overlays of a submission's worst cases, for organisers: the only part of a report that opens images."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from podium.challenges import KINDS, load_challenge
from podium.challenges.format import read_challenge_folders
from podium.errors import UsageError
from podium.evaluation import choose_challenge, prepare
from podium.execution.executor import Executor
from podium.platform.privacy import pseudonym
from podium.platform.submission import open_submission
from podium.readers.files import SafeFile, list_files
from podium.report.overlay_pictures import OverlayPicture, overlay_picture
from podium.sandbox.decoders import decoders
from podium.task import Task

OVERLAYS = 4
"""How many of a submission's worst cases are drawn."""

MOST_BYTES = 3_000_000
"""All overlays of a ranking's report together: the page has to stay below 5 MB."""


@dataclass(frozen=True)
class OverlaySource:
    """The ground truth and the images, checked once for any number of submissions."""

    task: Task
    images: Sequence[SafeFile]
    executor: Executor

    @classmethod
    @contextmanager
    def open(cls, *, ground_truth: Path, images: Path, challenge: str, executor: Executor) -> Iterator["OverlaySource"]:
        """Read the ground truth of `challenge` and list the images; submissions are decoded apart meanwhile."""
        if not images.is_dir():
            raise UsageError("There are no images: the folder given with --images does not exist.", detail=str(images))
        folders = read_challenge_folders(ground_truth, known=KINDS, named=challenge)
        folder = choose_challenge(folders, named=challenge)
        loaded = load_challenge(folder)
        with decoders(libraries=loaded.format.libraries, logged=False):
            yield cls(prepare(folder, loaded, executor), list_files(images, trusted=True).files, executor)

    def draw(self, worst: Mapping[str, str], submission: Path, *, label: str) -> list[OverlayPicture]:
        """The cases of `worst`, each with its caption, out of one team's submission.

        Anonymous names are recognised by the ground truth they came from; `label` stands for the file that has them.
        """
        captions = {self._true_name(case, label): caption for case, caption in worst.items()}
        challenge = self.task.challenge
        limit = challenge.format.submission_bytes(list(self.task.shapes.values()))
        with open_submission(submission, max_bytes=limit, shape=self.task.folder.common.submission) as opened:
            collected = challenge.format.collect(opened, self.task.references.keys())
            lost = sorted(set(captions) - set(collected.predictions))
            if lost:
                raise UsageError(
                    f"{submission} has no prediction for '{lost[0]}', which {label} has scored; "
                    "give the submission that the file was made from."
                )

            def draw(case: str) -> OverlayPicture | None:
                if challenge.overlays is None:
                    return None
                prediction, reference = collected.predictions[case], self.task.references[case]
                views = challenge.overlays.draw(case, prediction, reference, self.images)
                return overlay_picture(views, title=case, caption=captions[case]) if views else None

            outcomes = self.executor.run(list(captions), draw, label="drawing")
        pictures = []
        for case, outcome in outcomes.items():
            if outcome.error is not None:
                words = f"{captions[case]}. No picture: {outcome.error.removesuffix('.')}"
                pictures.append(overlay_picture((), title=case, caption=words))
            elif outcome.value is not None:
                pictures.append(outcome.value)
        return pictures

    def _true_name(self, case: str, label: str) -> str:
        known = self.task.references
        found = next((name for name in known if case in (name, pseudonym(name, key=self.task.digest))), None)
        if found is None:
            raise UsageError(f"{label} has the case '{case}', which this ground truth does not have.")
        return found
