#!/usr/bin/env bash
# Fuzzes the readers of everything that comes from outside: scripts/fuzz.sh MINUTES [TARGET ...]; see fuzz/run.py.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup-venv.sh
exec nice .venv/bin/python fuzz/run.py "$@"
