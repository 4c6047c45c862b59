#!/usr/bin/env bash
# Runs the tests; see usage below.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'TEXT'
usage: ./test.sh [--fast | --all | --nightly] [PYTEST ARGUMENTS]

Runs the tests in parallel processes, in about ten minutes on two cores; other arguments are passed on to pytest.
  --fast      two to three minutes: without the tests that need a browser, servers or many seconds, and with fewer
              random examples
  --all       also the tests that build and run the container, start a cluster or a proxy, or kill processes; .ci/run
              runs these
  --nightly   as --all, with all random examples of every property test

The tests of the container are skipped where no Docker engine answers; with PODIUM_REQUIRE_CONTAINER=1 they fail there.
TEXT
}

# Tests that wait for servers and processes leave a core idle: one process more than there are cores. The others do not.
processes=$(($(nproc) + 1))
examples=30
chosen="not container and not system"
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  --fast) chosen+=" and not browser and not slow"; processes=$(nproc); examples=15; shift ;;
  --all) chosen=""; shift ;;
  --nightly) chosen=""; examples=1000000; shift ;;
esac
export PODIUM_TEST_EXAMPLES=${PODIUM_TEST_EXAMPLES:-$examples}
scripts/setup-venv.sh
exec .venv/bin/python -m pytest -n "$processes" --dist loadfile -m "$chosen" "$@"
