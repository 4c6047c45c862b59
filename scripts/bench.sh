#!/usr/bin/env bash
# All benchmarks at realistic size: a table, the same as JSON, and with --docs the table of docs/performance.md.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x .venv/bin/python ] || scripts/setup-venv.sh
exec .venv/bin/python bench/suite.py "$@"
