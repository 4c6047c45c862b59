"""Code of an attacker, put into the zygotes, from which every decoder has it.

Also used inside the image, where there is no pytest.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from podium.sandbox import client


@contextmanager
def zygotes_running(code: str) -> Iterator[None]:
    """Zygotes that are started meanwhile run `code` first, one line."""
    with patch.object(client, "ZYGOTE_IMPORT", f"{code}; {client.ZYGOTE_IMPORT}"):
        yield


@contextmanager
def decoders_with(module: str, **replaced: Any) -> Iterator[None]:
    """Decoders started meanwhile have these attributes of podium.sandbox.server; functions come from `module`."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[module])
    with tempfile.NamedTemporaryFile() as file:
        file.write(cloudpickle.dumps(replaced))
        file.flush()
        load = f"cloudpickle.loads(pathlib.Path({file.name!r}).read_bytes())"
        code = f"import cloudpickle, pathlib, podium.sandbox.server; vars(podium.sandbox.server).update({load})"
        with zygotes_running(code):
            yield
