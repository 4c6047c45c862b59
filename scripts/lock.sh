#!/usr/bin/env bash
# Writes the locks: every package, including indirect ones, with the hashes of its files.
#
#   scripts/requirements.lock                         the image, from requirements.txt (exact versions)
#   scripts/requirements-dev.lock                     .venv, from pyproject.toml (ranges), within the image's lock
#   podium/tools/arena/deploy/requirements.lock       the arena's server, from the requirements.txt beside it
#
#   scripts/lock.sh             after a change of one of these; all other packages keep their versions
#   scripts/lock.sh --upgrade   takes the newest versions that the ranges allow
#
# Needs uv: .venv has it. torch is a CPU build: from the folder that pip is configured with (find-links) where it holds
# one, else from PyTorch's CPU index; TORCH_INDEX names another index.
set -euo pipefail
cd "$(dirname "$0")/.."

# What lesion matching and detection maps are held against. They ask for older packages, and work with ours.
peers=(panoptica==2.1.7 picai-eval==1.4.13)

uv=$(PATH=$PWD/.venv/bin:$PATH command -v uv) || { echo "lock.sh: uv is needed: pip install uv" >&2; exit 1; }
torch=(--index "${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}")
for folder in ${PIP_FIND_LINKS:-$(python3 -m pip config get global.find-links 2>/dev/null || true)}; do
  compgen -G "$folder/torch-*+cpu-*.whl" >/dev/null && torch=(--find-links "$folder")
done
compile() {
  "$uv" pip compile --quiet --no-header --python-version 3.11 --generate-hashes "${torch[@]}" "$@"
}

new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
for lock in requirements.lock requirements-dev.lock; do
  [[ ! -f scripts/$lock ]] || cp "scripts/$lock" "$new"   # the versions that uv keeps
done
compile "$@" --output-file "$new/requirements.lock" requirements.txt
compile "$@" --output-file "$new/requirements-dev.lock" --constraint "$new/requirements.lock" --no-annotate \
  --extra score --extra dev --extra judge --extra arena --extra volumes pyproject.toml
compile "$@" --output-file "$new/arena" --constraint "$new/requirements.lock" --constraint "$new/requirements-dev.lock" \
  --no-annotate podium/tools/arena/deploy/requirements.txt
printf '%s\n' "${peers[@]}" | compile --no-deps --no-annotate - >>"$new/requirements-dev.lock"

for lock in requirements.lock requirements-dev.lock; do
  # A second file of the same torch, from another place, stays allowed.
  pin=$(grep '^torch==' "$new/$lock")
  if [[ -f scripts/$lock ]]; then
    awk -v pin="$pin" '$0 == pin {on = 1; next} on && !/--hash/ {exit} on' "scripts/$lock" | grep -o 'sha256:[0-9a-f]*' |
      while read -r hash; do
        grep -q "$hash" "$new/$lock" || sed -i "/^torch==/a\\    --hash=$hash \\\\" "$new/$lock"
      done
  fi
  { echo "# Made by scripts/lock.sh; do not edit, except to allow another file of torch by one more --hash."; cat "$new/$lock"; } >"scripts/$lock"
done
{ echo "# Made by scripts/lock.sh; do not edit."; cat "$new/arena"; } >podium/tools/arena/deploy/requirements.lock
