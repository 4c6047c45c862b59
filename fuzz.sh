#!/usr/bin/env bash
# Fuzzes the readers of everything that comes from outside: ./fuzz.sh MINUTES [TARGET ...]; see fuzz/run.py.
set -euo pipefail
cd "$(dirname "$0")"
./setup-venv.sh
exec nice .venv/bin/python fuzz/run.py "$@"
