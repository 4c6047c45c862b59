#!/usr/bin/env bash
# Builds the evaluation container; see usage below.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'TEXT'
usage: ./build.sh [CHALLENGE] [--api exec|invoke] [--with report]

Builds podium-evaluation:<version> with every challenge in ground-truth/, or podium-evaluation-CHALLENGE:<version>
with the ground truth of that challenge alone. TORCH_INDEX and the proxy variables are passed on to the build.

BASE names the base image, python:3.11 by default; with a digest (BASE=python:3.11@sha256:...) it is always the same one.
The digest that was used is in the image's labels and in its SBOM.

--api says how the platform runs the image. exec, the default, starts it for every submission. invoke starts a web
server on port 4743 (GET /health, POST /invoke) that waits for submissions; the version in its tag ends in -invoke.

--with report adds the package that draws reports, which [outputs] with "report" needs.

Settings and references are checked first, with `podium check` of .venv or PATH; PODIUM_SKIP_CHECK=1 skips that.
TEXT
}
die() { echo "build.sh: $*" >&2; exit 2; }

[[ ${1:-} == -h || ${1:-} == --help ]] && { usage; exit 0; }
challenge='' api=exec with=''
while (($#)); do
  case $1 in
    --api) (($# >= 2)) || { usage >&2; exit 2; }; api=$2; shift ;;
    --with) (($# >= 2)) || { usage >&2; exit 2; }; with=$2; shift ;;
    -*) usage >&2; exit 2 ;;
    *) [[ -z $challenge ]] || { usage >&2; exit 2; }; challenge=$1 ;;
  esac
  shift
done
[[ $api == exec || $api == invoke ]] || die "--api is exec or invoke, not '$api'."
[[ -z $with || $with == report ]] || die "--with is report, not '$with'."
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

baked=("${available[@]}")
[[ -z $challenge ]] || baked=("$challenge")
for name in "${baked[@]}"; do
  ! grep -Eqs '^ *"[^"]+" *= *"report"' "ground-truth/$name/challenge.toml" || [[ $with == report ]] ||
    die "[outputs] of $name has a report: build with --with report."
  [[ -d ground-truth/$name/references ]] || continue
  link=$(find "ground-truth/$name/references/" -type l -print -quit)
  [[ -z $link ]] || die "$link is a symbolic link, which the evaluation refuses; put the file itself there."
done

if [[ ${PODIUM_SKIP_CHECK:-} == 1 ]]; then
  podium=()
  echo "The ground truth is not checked: PODIUM_SKIP_CHECK=1."
elif [[ -x .venv/bin/python ]]; then
  podium=(.venv/bin/python -m podium)
elif command -v podium >/dev/null; then
  podium=(podium)
else
  podium=()
  echo "The ground truth is not checked: there is neither .venv (scripts/setup-venv.sh makes it) nor podium on PATH."
fi
if ((${#podium[@]})); then
  "${podium[@]}" check "ground-truth${challenge:+/$challenge}" ||
    die "podium check found errors; nothing is built. PODIUM_SKIP_CHECK=1 ./build.sh $challenge builds without the check."
fi

version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' podium/__init__.py)
tag=podium-evaluation${challenge:+-$challenge}:$version
[[ $api == exec ]] || tag+=-$api

base=${BASE:-python:3.11}
docker image inspect "$base" >/dev/null 2>&1 || docker pull "$base" || die "there is no base image '$base' here, and it cannot be pulled."
# The registry's digest; the image's own ID where it comes from no registry.
digest=$(docker image inspect --format '{{if .RepoDigests}}{{index .RepoDigests 0}}{{else}}{{.Id}}{{end}}' "$base")

# A separate build context: it holds this challenge's ground truth only, and files with the same modes everywhere.
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
cp -R Dockerfile .dockerignore evaluate.py podium scripts image "$context"
mkdir "$context/ground-truth"
for name in "${baked[@]}"; do cp -RL "ground-truth/$name" "$context/ground-truth/"; done
chmod -R u=rwX,go=rX "$context"

arguments=(--tag "$tag" --build-arg "PODIUM_CHALLENGE=$challenge" --build-arg "PODIUM_VERSION=$version"
  --build-arg "PODIUM_API=$api" --build-arg "WITH=$with" --build-arg "BASE=$base" --build-arg "BASE_DIGEST=${digest##*@}")
[[ $architecture == amd64 ]] || arguments+=(--platform linux/amd64)   # what the platform runs
for variable in TORCH_INDEX http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
  [[ -z ${!variable:-} ]] || arguments+=(--build-arg "$variable")
done
docker build "${arguments[@]}" "$context"
echo "Built $tag"
