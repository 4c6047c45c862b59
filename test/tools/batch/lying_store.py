"""An S3 server on loopback that lies: each test scripts the answers that a real server would not give."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

Body = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """GET of objects and listings; every object is served as scripted."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        store: LyingStore = self.server.store  # type: ignore[attr-defined]
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        key = unquote(parts.path).removeprefix("/challenge").removeprefix("/")
        store.asked.append(key)
        if "list-type" in query:
            self.reply(store.listing(query).encode(), "application/xml")
        elif key in store.bodies:
            store.bodies[key](self)
        else:
            self.send_error(404)

    do_HEAD = do_GET  # noqa: N815  (the library's name)

    def reply(self, content: bytes, kind: str = "application/octet-stream", **headers: str) -> None:
        self.send_response(200)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def chunks(self, given: Iterator[bytes]) -> None:
        """A body that declares no length."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for each in given:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(each), each))

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that gives up is what the tests are about."""


class LyingStore:
    """`listed` are the size and the ETag by key; `folders` are listed beside them."""

    def __init__(self) -> None:
        self.listed: dict[str, tuple[int, str]] = {}
        self.bodies: dict[str, Body] = {}
        self.folders: Sequence[str] = ()
        self.is_endless = False
        self.asked: list[str] = []
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.store = self  # type: ignore[attr-defined]

    @property
    def environment(self) -> dict[str, str]:
        return {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server.server_address[1]}", "AWS_MAX_ATTEMPTS": "1"}

    def put(self, key: str, content: bytes, body: Body | None = None) -> None:
        """List `content`, and serve `body` instead."""
        self.listed[key] = (len(content), md5(content, usedforsecurity=False).hexdigest())
        self.bodies[key] = body or (lambda handler: handler.reply(content))

    def listing(self, query: dict[str, str]) -> str:
        prefix = query.get("prefix", "")
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size><ETag>&quot;{tag}&quot;</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key, (size, tag) in self.listed.items()
            if key.startswith(prefix) and not query.get("delimiter")
        )
        folders = "".join(f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in self.folders)
        more = f"<NextContinuationToken>{len(self.asked)}</NextContinuationToken>" if self.is_endless else ""
        return (
            f"<ListBucketResult><Name>challenge</Name><IsTruncated>{str(self.is_endless).lower()}</IsTruncated>"
            f"{'' if self.is_endless else contents + folders}{more}</ListBucketResult>"
        )


@contextmanager
def lying_store() -> Iterator[LyingStore]:
    store = LyingStore()
    thread = threading.Thread(target=store.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        store.server.shutdown()
        store.server.server_close()
        thread.join()
