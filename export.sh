#!/usr/bin/env bash
# Builds the container and packs what is uploaded to the platform; see usage below.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'TEXT'
usage: ./export.sh [CHALLENGE] [--api exec|invoke]

Runs build.sh, which checks the ground truth first (PODIUM_SKIP_CHECK=1 skips that), and writes to dist/
  <image>_<version>.tar.gz               the image, for the phase's evaluation method
  <image>_<version>_ground-truth.tar.gz  the ground truth, for an upload apart from the image
TEXT
}

[[ ${1:-} == -h || ${1:-} == --help ]] && { usage; exit 0; }
exec 3>&1
tag=$(./build.sh "$@" | { while IFS= read -r line; do last=$line; echo "$line" >&3; done; echo "$last"; })
tag=${tag#Built }
name=${tag%:*} version=${tag##*:}
challenge=${name#podium-evaluation} challenge=${challenge#-}
image_file=dist/${name}_$version.tar.gz
ground_truth_file=dist/${name}_${version}_ground-truth.tar.gz

mkdir -p dist
partial=$(mktemp dist/.partial.XXXXXX)   # renamed when complete: a file in dist/ is never half an export
trap 'rm -f "$partial"' EXIT
finish() { chmod 644 "$partial"; mv "$partial" "$1"; }

echo "Saving $tag, about a minute ..."
compress=$(command -v pigz || command -v gzip)
docker save "$tag" | "$compress" -4 -n >"$partial"
finish "$image_file"

# The platform extracts this into its ground truth folder. The challenge's own folder is in the archive: its name is the
# challenge's. Order, times and owners are fixed: the same ground truth gives the same checksum.
(
  cd ground-truth
  content=("$challenge")
  [[ -n $challenge ]] || content=(*)
  tar --create --dereference --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --exclude=.DS_Store --exclude=__pycache__ -- "${content[@]}"
) | gzip -9 -n >"$partial"
finish "$ground_truth_file"

echo "To upload:"
for file in "$image_file" "$ground_truth_file"; do
  echo "  $file  $(du -h "$file" | cut -f1)  sha256 $(sha256sum "$file" | cut -d' ' -f1)"
done
