"""The `[freehand]` table of challenge.toml: TUS-REC's frame size, and whether scores are held to [0, 1]."""

from typing import Annotated

from pydantic import Field, StrictBool, StrictInt

from podium.challenges.settings import Settings, Text
from podium.metrics.displacement import PixelGrid

Length = Annotated[StrictInt, Field(ge=1, le=10_000)]


class FreehandSockets(Settings):
    """`[freehand.sockets]`: the slug of an algorithm's output."""

    fields: Text = "displacement-fields"


class FreehandSettings(Settings):
    """`frame_size` is (height, width) in pixels. `clip` holds every normalised error to [0, 1], as the document says;
    without it a method worse than identity goes below 0, as on the published leaderboards."""

    sockets: FreehandSockets = FreehandSockets()
    frame_size: tuple[Length, Length] = (480, 640)
    clip: StrictBool = True

    @property
    def grid(self) -> PixelGrid:
        height, width = self.frame_size
        return PixelGrid(height=height, width=width)
