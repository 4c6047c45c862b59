#!/usr/bin/env bash
# Builds the evaluation container; see usage below.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'TEXT'
usage: ./build.sh [CHALLENGE]

Builds podium-evaluation:<version> with every challenge in ground-truth/, or podium-evaluation-CHALLENGE:<version>
with the ground truth of that challenge alone. TORCH_INDEX and the proxy variables are passed on to the build.
TEXT
}
die() { echo "build.sh: $*" >&2; exit 2; }

[[ ${1:-} == -h || ${1:-} == --help ]] && { usage; exit 0; }
(($# <= 1)) || { usage >&2; exit 2; }
challenge=${1:-}
available=()
for file in ground-truth/*/challenge.toml; do
  [[ -f $file ]] && available+=("$(basename "$(dirname "$file")")")
done
((${#available[@]})) || die "ground-truth/ holds no challenge: no folder there has a challenge.toml."
if [[ -n $challenge && " ${available[*]} " != *" $challenge "* ]]; then
  die "there is no challenge '$challenge' in ground-truth/; available: ${available[*]}"
fi

command -v docker >/dev/null || die "docker is not installed; the image needs a Docker engine."
architecture=$(docker version --format '{{.Server.Arch}}' 2>/dev/null) || die "no Docker engine answers; start one and try again."

version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' podium/__init__.py)
tag=podium-evaluation${challenge:+-$challenge}:$version

# A context of its own: it holds this challenge's ground truth only, and files that any user may read.
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
cp -R Dockerfile .dockerignore evaluate.py install-torch.sh podium requirements.txt "$context"
mkdir "$context/ground-truth"
baked=("${available[@]}")
[[ -z $challenge ]] || baked=("$challenge")
for name in "${baked[@]}"; do cp -RL "ground-truth/$name" "$context/ground-truth/"; done
chmod -R a+rX "$context"

arguments=(--tag "$tag" --build-arg "PODIUM_CHALLENGE=$challenge" --build-arg "PODIUM_VERSION=$version")
[[ $architecture == amd64 ]] || arguments+=(--platform linux/amd64)   # what the platform runs
for variable in TORCH_INDEX http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
  [[ -z ${!variable:-} ]] || arguments+=(--build-arg "$variable")
done
docker build "${arguments[@]}" "$context"
echo "Built $tag"
