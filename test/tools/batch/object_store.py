"""A real S3 server on loopback: moto's, as a process that can be killed."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from podium.tools.batch.storage import Url, location

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}


class ObjectStore:
    """A server with one bucket, `challenge`; `environment` is what its users need."""

    bucket = "challenge"

    def __init__(self, folder: Path, **settings: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.environment = {
            **CREDENTIALS,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._port}",
            "AWS_MAX_ATTEMPTS": "1",  # tests that wait for a failure should not wait long
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self._folder, self._settings = folder, settings
        self.start()

    def start(self) -> None:
        words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self._port)]
        with (self._folder / f"store-{time.monotonic_ns()}.log").open("wb") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, env={**os.environ, **self._settings})
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port)).close()
            except ConnectionRefusedError:
                assert self.process.poll() is None, "the server has ended"
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def url(self, name: str) -> Url:
        url = location(f"s3://{self.bucket}/{name}")
        assert isinstance(url, Url)
        return url

    def call(self, method: str, **request: Any) -> Any:
        return self.url("").files.call_s3(method, Bucket=self.bucket, **request)

    def put(self, key: str, content: bytes) -> None:
        self.call("put_object", Key=key, Body=content)

    def put_folder(self, name: str, folder: Path) -> None:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{name}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    def objects(self, prefix: str) -> Mapping[str, bytes]:
        """The content of everything below, by name."""
        found: dict[str, bytes] = {}
        request: dict[str, str] = {"Prefix": f"{prefix}/"}
        while True:
            page = self.call("list_objects_v2", **request)
            for each in page.get("Contents", ()):
                found[each["Key"].removeprefix(f"{prefix}/")] = self.url(each["Key"]).read_bytes()
            if not page.get("IsTruncated"):
                return found
            request["ContinuationToken"] = page["NextContinuationToken"]
