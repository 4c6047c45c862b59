#!/usr/bin/env bash
# Makes .venv with the packages of requirements-dev.lock, and podium itself, editable. Called by test.sh and demo.sh;
# does nothing when what is installed still matches the lock. PYTHON names another Python 3.11.
set -euo pipefail
cd "$(dirname "$0")/.."

stamp=.venv/.pins
pins=$(cat scripts/requirements-dev.lock pyproject.toml scripts/install-torch.sh scripts/setup-venv.sh <(pwd) | sha256sum)
[[ -f $stamp && $(cat "$stamp") == "$pins" ]] && exit 0

[[ -x .venv/bin/python ]] || "${PYTHON:-python3.11}" -m venv .venv || {
  echo "setup-venv: Python 3.11 is needed; set PYTHON to one." >&2
  exit 1
}
echo "Installing the pinned packages into .venv, a few minutes the first time ..."
install=(.venv/bin/python -m pip install -qq --disable-pip-version-check)
scripts/install-torch.sh .venv/bin/python
# --no-deps: the lock is complete, and panoptica and picai-eval ask for older packages than they need. panoptica has no
# wheel: what pip fetches to build it is the one thing here without a hash.
"${install[@]}" --no-deps --require-hashes --only-binary :all: --no-binary panoptica --requirement scripts/requirements-dev.lock
# setuptools is there already: without isolation nothing is fetched to build podium.
"${install[@]}" --no-deps --no-build-isolation --editable .
# NiiVue for the arena's pages. Without it they show plain slices, so a machine without npm is set up all the same.
.venv/bin/podium arena viewer || true
echo "$pins" >"$stamp"
