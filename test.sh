#!/usr/bin/env bash
# Runs the tests; see usage below.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'TEXT'
usage: ./test.sh [--fast] [PYTEST ARGUMENTS]

Runs the tests, in as many processes as there are cores; other arguments are passed on to pytest.
  --fast   without the tests that need a container or a browser

The tests that build and run the container run where a Docker engine answers and are skipped elsewhere; with
PODIUM_REQUIRE_CONTAINER=1 they fail where there is none.
TEXT
}

[[ ${1:-} == -h || ${1:-} == --help ]] && { usage; exit 0; }
arguments=(-n auto --dist loadfile)
if [[ ${1:-} == --fast ]]; then
  shift
  arguments+=(-m "not container and not browser")
fi
scripts/setup-venv.sh
exec .venv/bin/python -m pytest "${arguments[@]}" "$@"
