"""Protection of the web server: headers, forged forms, limits on request bodies. Errors are keys of languages/."""

import hashlib
import hmac
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from podium.arena.desk import Visitor

_LONGEST_BODY = 32 * 1024  # a comment of 2,000 Chinese characters takes 18,000 bytes
_MOST_FIELDS = 16

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # an invitation's address is its key
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class SecureHeaders:
    """The outermost layer: every response has the headers, pages of failures too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def csrf_token(visitor: Visitor) -> str:
    """What a visitor's forms carry. Bound to the link and not to the session: a link that is opened again leaves forms
    in older tabs good, with what was written into them; and a restart changes nothing."""
    return hmac.new(visitor.link.encode(), b"podium arena form", hashlib.sha256).hexdigest()


def check_origin(request: Request, *, url: str) -> None:
    """Refuse what a browser says another site has sent. `Origin: null` is what our own forms send, by no-referrer."""
    site = request.headers.get("sec-fetch-site", "none")
    origin = request.headers.get("origin", "null")
    ours = {urlsplit(url).netloc.lower(), request.headers.get("host", "").lower()}
    if site not in ("same-origin", "none") or (origin != "null" and urlsplit(origin).netloc.lower() not in ours):
        raise HTTPException(403, "other_site")


def check_csrf(visitor: Visitor, token: str) -> None:
    if not hmac.compare_digest(csrf_token(visitor).encode(), token.encode()):
        raise HTTPException(403, "old_form")


async def form_fields(request: Request) -> dict[str, str]:
    """The fields of a urlencoded form of at most 32 KiB, each at most once."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise HTTPException(415, "only_forms")
    body = await _bounded_body(request)
    try:
        fields = parse_qs(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), errors="strict",
            max_num_fields=_MOST_FIELDS,
        )  # fmt: skip
    except ValueError:
        raise HTTPException(400, "unreadable_form") from None
    if any(len(values) > 1 for values in fields.values()):
        raise HTTPException(400, "field_twice")
    return {name: values[0] for name, values in fields.items()}


async def _bounded_body(request: Request) -> bytes:
    """Read no further than the bound, whatever length was announced."""
    body = b""
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) <= _LONGEST_BODY:
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LONGEST_BODY:
                break
        else:
            return body
    raise HTTPException(413, "too_long")
