#!/usr/bin/env bash
# Runs the evaluation container on one submission as the platform does; see usage below.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'TEXT'
usage: ./try.sh CHALLENGE [SUBMISSION]

Builds podium-evaluation-CHALLENGE:<version> if there is none or something that it is made of is newer, and runs it on
SUBMISSION, a folder or an archive [the perfect sample of `podium sample`], as the platform does: the default entrypoint
without arguments, no network, a read-only file system, a user without privileges, 7 GB of memory (MEMORY=16g) and no
swap. Then prints the leaderboard's figures; metrics.json is in try-output/CHALLENGE/.
TEXT
}
die() { echo "try.sh: $*" >&2; exit 2; }

[[ ${1:-} == -h || ${1:-} == --help ]] && { usage; exit 0; }
(($# == 1 || $# == 2)) || { usage >&2; exit 2; }
[[ $1 != -* ]] || { usage >&2; exit 2; }
challenge=$1 submission=${2:-} memory=${MEMORY:-7g}
[[ -f ground-truth/$challenge/challenge.toml ]] || die "there is no challenge '$challenge' in ground-truth/."
[[ -z $submission || -e $submission ]] || die "there is no submission '$submission'."
command -v docker >/dev/null || die "docker is not installed; the image needs a Docker engine."
podium=(.venv/bin/python -m podium)
[[ -x .venv/bin/python ]] || podium=(podium)

version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' podium/__init__.py)
tag=podium-evaluation-$challenge:$version
sources=(Dockerfile evaluate.py build.sh podium image scripts/requirements.lock "ground-truth/$challenge")
built=$(docker image inspect --format '{{json .Metadata.LastTagTime}}' "$tag" 2>/dev/null | tr -d '"' || true)
if [[ -z $built || -n $(find "${sources[@]}" -name __pycache__ -prune -o -type f -newermt "$built" -print -quit) ]]; then
  ./build.sh "$challenge"
fi

work=$(mktemp -d)
name=podium-try-$$
trap 'docker rm --force "$name" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
if [[ -z $submission ]]; then
  "${podium[@]}" sample "$challenge" --ground-truth "ground-truth/$challenge" --output "$work/samples" >/dev/null
  submission=$work/samples/algorithm/perfect
  [[ -d $submission ]] || submission=$work/samples/files/perfect
fi

# As the platform prepares it: a folder that everybody may read, with the platform's own inputs.json.
mkdir "$work/input"
if [[ -d $submission ]]; then cp -RL "$submission/." "$work/input"; else cp -L "$submission" "$work/input"; fi
[[ -e $work/input/inputs.json ]] || echo '[]' >"$work/input/inputs.json"
chmod -R u=rwX,go=rX "$work"
output=try-output/$challenge
rm -rf "$output"
mkdir -p "$output"
chmod 777 "$output"
code=0
docker run --name "$name" --network none --cap-drop all --security-opt no-new-privileges --read-only --tmpfs /tmp \
  --memory "$memory" --memory-swap "$memory" --pids-limit 256 --volume "$work/input:/input:ro" \
  --volume "$PWD/$output:/output" "$tag" || code=$?
if ((code)); then
  echo "try.sh: the evaluation of $submission ended with exit code $code; participants see the last line above." >&2
  exit "$code"
fi
"${podium[@]}" leaderboard "$challenge" --json --ground-truth "ground-truth/$challenge" >"$work/phase.json"
python3 - "$output/metrics.json" "$work/phase.json" <<'PYTHON'
import json, sys

metrics, phase = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:])
columns = [(phase["score_title"], phase["score_jsonpath"])]
columns += [(each["title"], each["path"]) for each in phase["extra_results_columns"]]
for title, path in columns:
    value = metrics
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    print(f"{title:<40} {'no value' if value is None else f'{value:.4f}'}")
print(", ".join(f"{count} {name}" for name, count in metrics["counts"].items()))
PYTHON
echo "Scored $submission -> $output/metrics.json"
