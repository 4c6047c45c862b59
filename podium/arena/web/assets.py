"""Templates and static files, read from the package once."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from podium.arena.web.viewer_library import LIBRARY

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def render(template: str, **content: Any) -> str:
    """A page's source; whatever is put into it is escaped."""
    return _environment().get_template(f"{template}.html.jinja").render(**content)


async def static(request: Request) -> Response:
    """A file of the package. These are public, so that the page that asks for a link can be styled too."""
    name = request.path_params["name"]
    content = _static().get(name)
    if content is None:
        raise HTTPException(404)
    return Response(
        content,
        media_type=_TYPES[name.rpartition(".")[2]],
        headers={"Cache-Control": "public, max-age=31536000, immutable"},  # their addresses change with their content
    )


@cache
def _static() -> dict[str, bytes]:
    folder = files("podium.arena.web").joinpath("static")
    found = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in _TYPES}
    if LIBRARY.is_file():
        found[LIBRARY.name] = LIBRARY.read_bytes()
    return found


@cache
def _static_address(name: str) -> str:
    return f"static/{name}?{hashlib.sha256(_static()[name]).hexdigest()[:12]}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("podium.arena.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["static"] = _static_address
    environment.globals["library"] = LIBRARY.name if LIBRARY.name in _static() else None
    return environment
