#!/usr/bin/env bash
# Runs the fast tests on other versions of Python; see usage below.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TEXT'
usage: scripts/test-pythons.sh [VERSION ...] [-- PYTEST ARGUMENTS]

Runs the fast tests on each Python that is named and installed, 3.12 and 3.13 by default; pyenv's versions are found
too. Each has an environment of its own, .venv-3.12 and so on, with packages in the ranges of pyproject.toml: not those
of the locks, which are made for Python 3.11. A version that is not installed is named and skipped.
TEXT
}

[[ ${1:-} == -h || ${1:-} == --help ]] && { usage; exit 0; }
versions=()
while (($#)) && [[ $1 != -- ]]; do versions+=("$1"); shift; done
(($#)) && shift
((${#versions[@]})) || versions=(3.12 3.13)
index=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}
failed=()
for version in "${versions[@]}"; do
  python=''
  # The last that starts: pyenv has a command for every version, also for one that is not chosen.
  for candidate in "$HOME/.pyenv/versions/$version".*/bin/python "python$version"; do
    "$candidate" -c '' 2>/dev/null && python=$candidate
  done
  [[ -n $python ]] || { echo "test-pythons: Python $version is not installed: skipped"; continue; }
  environment=.venv-$version
  [[ -x $environment/bin/uv ]] || { "$python" -m venv "$environment" && "$environment/bin/pip" install -qq uv; }
  install=("$environment/bin/uv" pip install --quiet --python "$environment/bin/python")   # pip finds no solution
  # torch first and alone: a CPU build where there is one, else that of the usual index.
  "${install[@]}" --index-url "$index" torch 2>/dev/null || "${install[@]}" torch
  "${install[@]}" --editable '.[score,dev,judge,arena,volumes]'
  # What some metrics are compared with; they ask for older packages than they need.
  "${install[@]}" --no-deps panoptica picai-eval
  echo "== Python $version"
  PODIUM_TEST_EXAMPLES=15 "$environment/bin/python" -m pytest -q -n "$(nproc)" --dist loadfile \
    -m "not container and not system and not browser and not slow" "$@" || failed+=("$version")
done
((${#failed[@]} == 0)) || { echo "test-pythons: the tests failed on Python ${failed[*]}" >&2; exit 1; }
