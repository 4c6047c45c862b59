#!/usr/bin/env bash
# All benchmarks at realistic size: a table, the same as JSON, and with --docs the table of docs/performance.md; or one
# script of bench/ by its name, such as `scripts/bench.sh coverage --help`.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x .venv/bin/python ] || scripts/setup-venv.sh
script=suite
if [[ -f bench/${1:-}.py ]]; then
  script=$1
  shift
fi
exec .venv/bin/python "bench/$script.py" "$@"
