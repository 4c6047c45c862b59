"""`podium arena serve`: one process that answers raters and the organiser until it is stopped."""

import socket
import ssl
import sys
from contextlib import closing, suppress
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from podium.arena.desk import Desk
from podium.arena.web.app import make_app
from podium.errors import UsageError

_GRACE_SECONDS = 5  # for answers under way when the server is stopped


def serve(folder: Path, *, host: str, port: int, certificate: Path | None = None, key: Path | None = None) -> None:
    """Serve the arena in `folder` until Ctrl-C or SIGTERM."""
    _check_certificate(certificate, key)
    with closing(Desk(folder)) as desk, _listen(host, port) as listener:
        if missing := desk.missing_pictures():
            raise UsageError(f"{folder} lacks {len(missing)} files of its pictures, first {missing[0]}.")
        scheme = "https" if certificate else "http"
        place = f"{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        print(f"The arena listens on {scheme}://{place} (links point to {desk.settings.url}).")
        if not certificate and not _is_loopback(host):
            print("Links and votes are sent unencrypted: use --certificate and --key, or an HTTPS reverse proxy.")
        print("Press Ctrl-C to stop it; every confirmed vote is on disk.", flush=True)
        config = uvicorn.Config(
            make_app(desk),
            access_log=False,  # links carry tokens
            log_level="warning",
            server_header=False,
            proxy_headers=False,  # nothing here asks who the client is
            ws="none",
            lifespan="on",
            timeout_keep_alive=30,
            timeout_graceful_shutdown=_GRACE_SECONDS,
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
        # uvicorn raises the signal again after it has shut down; where SIGINT is ignored, nothing comes of it.
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])
        print("Stopped.", file=sys.stderr, flush=True)


def _listen(host: str, port: int) -> socket.socket:
    """Bind before anything else is started, so that a problem is reported clearly."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, OverflowError) as error:
        raise UsageError(f"{host} is not an address of this machine: {error}.") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)  # here, so that a port in use is noticed here
    except OSError as error:
        listener.close()
        raise UsageError(f"The arena cannot listen on {host}, port {port}: {error.strerror}. Is --port free?") from None
    return listener


def _check_certificate(certificate: Path | None, key: Path | None) -> None:
    if (certificate is None) != (key is None):
        raise UsageError("--certificate and --key must be given together.")
    if certificate is not None:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
        except OSError as error:  # ssl.SSLError is one
            reason = error.strerror or error
            raise UsageError(f"The certificate {certificate} with the key {key} cannot be used: {reason}.") from None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
