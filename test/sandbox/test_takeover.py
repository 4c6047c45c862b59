"""What a decoder can do once an attacker runs code in it: nothing, as long as one of the layers named in attacks.py is
there. test/container/test_takeover.py makes the same attacks in the image, as an ordinary user.
"""

from pathlib import Path

import pytest
from sandbox.attacks import surprises, table

pytestmark = pytest.mark.slow


def test_without_any_layer_each_attack_succeeds_and_each_layer_alone_refuses_it(tmp_path: Path) -> None:
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "a.txt").write_bytes(b"the truth")
    assert surprises(table(tmp_path / "truth" / "a.txt", tmp_path)) == []
