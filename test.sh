#!/usr/bin/env bash
# Runs the tests; see usage below.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'TEXT'
usage: ./test.sh [--fast] [PYTEST ARGUMENTS]

Runs the tests in parallel processes; other arguments are passed on to pytest.
  --fast   two to three minutes: without the tests that need a container, a browser, a cluster or many seconds, and with
           fewer random examples per property test

The tests that build and run the container run where a Docker engine answers and are skipped elsewhere; with
PODIUM_REQUIRE_CONTAINER=1 they fail where there is none.
TEXT
}

[[ ${1:-} == -h || ${1:-} == --help ]] && { usage; exit 0; }
# Tests that wait for servers and processes leave a core idle: one process more than there are cores. The others do not.
processes=$(($(nproc) + 1))
arguments=(--dist loadfile)
if [[ ${1:-} == --fast ]]; then
  shift
  arguments+=(-m "not container and not browser and not slow")
  export PODIUM_FAST_TESTS=1
  processes=$(nproc)
fi
scripts/setup-venv.sh
exec .venv/bin/python -m pytest -n "$processes" "${arguments[@]}" "$@"
