#!/usr/bin/env bash
# Makes .venv with the pinned runtime and development packages, and podium itself, editable. Called by test.sh and
# demo.sh; does nothing when what is installed still matches the pins. PYTHON names another Python 3.11.
set -euo pipefail
cd "$(dirname "$0")"

stamp=.venv/.pins
pins=$(cat requirements.txt pyproject.toml install-torch.sh setup-venv.sh <(pwd) | sha256sum)
[[ -f $stamp && $(cat "$stamp") == "$pins" ]] && exit 0

[[ -x .venv/bin/python ]] || "${PYTHON:-python3.11}" -m venv .venv || {
  echo "setup-venv: Python 3.11 is needed; set PYTHON to one." >&2
  exit 1
}
echo "Installing the pinned packages into .venv, a few minutes the first time ..."
install=(.venv/bin/python -m pip install -qq --disable-pip-version-check)
./install-torch.sh .venv/bin/python
"${install[@]}" --requirement requirements.txt "$(grep -o 'setuptools==[0-9.]*' pyproject.toml)"
# setuptools is there already: without isolation nothing is fetched to build podium.
"${install[@]}" --no-build-isolation --editable '.[score,dev,judge,arena]'
# What lesion matching and detection maps are held against. They ask for older packages, and work with these.
"${install[@]}" --no-deps panoptica==2.1.7 picai-eval==1.4.13
# NiiVue for the arena's pages. Without it they show plain slices, so a machine without npm is set up all the same.
.venv/bin/podium arena viewer || true
echo "$pins" >"$stamp"
