#!/usr/bin/env bash
# Builds the container and packs what is uploaded to the platform; see usage below.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'TEXT'
usage: ./export.sh [CHALLENGE] [--api exec|invoke] [--with report] [--reproducible]

Runs build.sh, which checks the ground truth first (PODIUM_SKIP_CHECK=1 skips that), and writes to dist/
  <image>_<version>.tar.gz               the image, for the phase's evaluation method
  <image>_<version>.cdx.json             what the image is made of (CycloneDX): base image, packages, versions, hashes
  <image>_<version>_ground-truth.tar.gz  the ground truth, for an upload apart from the image

The same commit and the same base image give the same image, whose digest is printed: every time in it is that of the
last commit, or SOURCE_DATE_EPOCH.

The platform refuses a ground truth that it has seen before, in any phase. The archive therefore has a file build.txt
with name, version and date; --reproducible leaves it out, and the same ground truth gives the same archive.
TEXT
}

[[ ${1:-} == -h || ${1:-} == --help ]] && { usage; exit 0; }
reproducible=
arguments=()
for argument; do
  if [[ $argument == --reproducible ]]; then reproducible=yes; else arguments+=("$argument"); fi
done
set -- "${arguments[@]}"
exec 3>&1
tag=$(./build.sh "$@" | { last=''; while IFS= read -r line; do last=$line; echo "$line" >&3; done; echo "$last"; })
tag=${tag#Built }
name=${tag%:*} version=${tag##*:}
challenge=${name#podium-evaluation} challenge=${challenge#-}
image_file=dist/${name}_$version.tar.gz
sbom_file=dist/${name}_$version.cdx.json
ground_truth_file=dist/${name}_${version}_ground-truth.tar.gz

python=.venv/bin/python
[[ -x $python ]] || python=$(command -v python3) || { echo "export.sh: python3 is needed to pack the image." >&2; exit 2; }
seconds=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
mkdir -p dist
work=$(mktemp -d dist/.partial.XXXXXX)   # files are renamed when complete: a file in dist/ is never half an export
trap 'rm -rf "$work"' EXIT
partial=$work/file
finish() { chmod 644 "$partial"; mv "$partial" "$1"; }

echo "Saving $tag, about a minute ..."
compress=$(command -v pigz || command -v gzip)
docker save "$tag" >"$work/saved"
digest=$("$python" image/pack.py "$work/saved" "$work/packed" "$seconds")
rm "$work/saved"
"$compress" -4 -n <"$work/packed" >"$partial"
rm "$work/packed"
finish "$image_file"
docker run --rm --network=none --entrypoint=python "$tag" -c 'print(open("/opt/sbom.cdx.json").read(), end="")' >"$partial"
finish "$sbom_file"

# The platform extracts this into its ground truth folder. The challenge's own folder is in the archive: its name is the
# challenge's. Order, times and owners are fixed: the same ground truth gives the same checksum, but for build.txt.
content=("$challenge")
[[ -n $challenge ]] || content=($(cd ground-truth && echo *))
content=(-C "$PWD/ground-truth" -- "${content[@]}")
if [[ -z $reproducible ]]; then
  printf 'name: %s\nversion: %s\ndate: %s\n' "$name" "$version" "$(date --utc +%Y-%m-%dT%H:%M:%S.%NZ)" >"$work/build.txt"
  content=(-C "$PWD/$work" build.txt "${content[@]}")
fi
tar --create --dereference --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
  --exclude=.DS_Store --exclude=__pycache__ "${content[@]}" | gzip -9 -n >"$partial"
finish "$ground_truth_file"

show() { echo "  $1  $(du -h "$1" | cut -f1)  sha256 $(sha256sum "$1" | cut -d' ' -f1)"; }
echo "To upload:"
show "$image_file"
show "$ground_truth_file"
echo "To keep, what the image is made of:"
show "$sbom_file"
echo "Image digest, the same for the same content: $digest"
