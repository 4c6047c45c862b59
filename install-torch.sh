#!/usr/bin/env bash
# Installs the torch that requirements.txt pins, as a CPU build, into the environment of the given Python.
#
#   ./install-torch.sh .venv/bin/python
#
# Scoring runs on CPUs, and a CUDA build would add gigabytes to the image. So torch comes first and alone, from PyTorch's
# CPU index; where that cannot be reached, from whatever pip is configured with; a CUDA build is refused either way.
# TORCH_INDEX names another index.
set -euo pipefail

python=${1:?usage: install-torch.sh PYTHON}
index=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}
requirement=$(grep '^torch==' "$(dirname "$0")/requirements.txt")

install() { "$python" -m pip install -qq --disable-pip-version-check "$@"; }

# Reads torch/version.py instead of importing torch, which works before its dependencies are there.
accelerator() {
  "$python" - <<'PYTHON'
import runpy, sysconfig
version = runpy.run_path(sysconfig.get_path("purelib") + "/torch/version.py")
print(" ".join(name for name in ("cuda", "hip", "xpu") if version.get(name)))
PYTHON
}

# Without dependencies: those of a CUDA build must not be fetched before the build is known.
if ! install --no-deps --timeout 10 --retries 0 --index-url "$index" "$requirement"; then
  echo "install-torch: no $requirement at $index, trying the indexes pip is configured with"
  install --no-deps "$requirement" || { echo "install-torch: pip finds no $requirement." >&2; exit 1; }
fi
found=$(accelerator)
if [[ -n $found ]]; then
  "$python" -m pip uninstall --quiet --yes torch
  echo "install-torch: pip found only a build of $requirement for $found, and a CPU build is needed: make $index" \
    "reachable, set TORCH_INDEX to a mirror of it, or point pip to a CPU wheel with PIP_FIND_LINKS." >&2
  exit 1
fi
install "$requirement"   # torch itself is satisfied: this brings its dependencies
