#!/usr/bin/env bash
# Runs the tests; arguments are passed on to pytest.
#
# The tests that build and run the container run where a Docker engine answers and are skipped elsewhere; with
# PODIUM_REQUIRE_CONTAINER=1 they fail where there is none.
set -euo pipefail
cd "$(dirname "$0")"
./setup-venv.sh
exec .venv/bin/python -m pytest "$@"
