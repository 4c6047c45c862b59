"""Lets tests import their neighbours as `literal.*` and `samples.*`: `test` is the name of a stdlib package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
