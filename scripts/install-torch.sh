#!/usr/bin/env bash
# Installs the torch of requirements.lock, a CPU build, into the environment of the given Python.
#
#   scripts/install-torch.sh .venv/bin/python
#
# Scoring runs on CPUs, and a CUDA build would add gigabytes to the image. So torch comes alone and from a place that is
# named: PyTorch's CPU index, the index that TORCH_INDEX names, or a folder that pip is configured with (PIP_FIND_LINKS).
# Only a file with a hash of requirements.lock is installed, wherever it comes from.
set -euo pipefail

python=${1:?usage: install-torch.sh PYTHON}
index=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk '/^torch==/ {on = 1} on {print} on && !/\\$/ {exit}' "$(dirname "$0")/requirements.lock" >"$work/torch.lock"
pin=$(head -1 "$work/torch.lock" | cut -d' ' -f1)

# --no-deps: what torch needs is in the lock too.
"$python" -m pip install -qq --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
  --timeout 10 --retries 0 --index-url "$index" --requirement "$work/torch.lock" 2>&1 | tee "$work/said" >&2 && exit 0

if grep -q 'DO NOT MATCH THE HASHES' "$work/said"; then
  echo "install-torch: the file of $pin at $index has another hash than requirements.lock. If you trust it, add the hash" \
    "that pip got, as one more --hash line below $pin in requirements.lock and requirements-dev.lock." >&2
else
  echo "install-torch: there is no $pin at $index: make it reachable, set TORCH_INDEX to a mirror of it, or point" \
    "PIP_FIND_LINKS to a folder with that file." >&2
fi
exit 1
