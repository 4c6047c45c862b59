#!/usr/bin/env bash
# Scores every sample submission without a container, ranks the teams of each challenge, and prepares an arena.
set -euo pipefail
cd "$(dirname "$0")"
scripts/setup-venv.sh

bold='' red='' plain=''
if [[ -t 1 ]]; then bold=$'\e[1m' red=$'\e[31m' plain=$'\e[0m'; fi

for samples in test/submissions/*/; do
  challenge=$(basename "$samples")
  results=demo-output/$challenge
  rm -rf "$results"
  echo "${bold}$challenge${plain}"
  for submission in "$samples"*/; do
    team=$(basename "$submission")
    mkdir -p "$results/$team"
    printf '  %-24s ' "$team"
    if .venv/bin/podium evaluate --input "$submission" --output "$results/$team" --ground-truth "ground-truth/$challenge" \
      >"$results/$team/log.txt" 2>"$results/$team/errors.txt"; then
      echo "scored"
      overlays=()
      if [[ -d test/images/$challenge ]]; then
        overlays=(--images "test/images/$challenge" --submission "$submission" --ground-truth "ground-truth/$challenge")
      fi
      .venv/bin/podium report "$results/$team/metrics.json" "${overlays[@]}" 2>"$results/$team/report.txt"
    else   # what the platform would show the team: the last line of stderr that is not empty
      echo "${red}failed:${plain} $(grep -v '^[[:space:]]*$' "$results/$team/errors.txt" | tail -n 1)"
    fi
  done
  scored=("$results"/*/metrics.json)
  if [[ -f ${scored[0]} ]]; then
    echo
    # A challenge whose official score an offline tool completes is shown as the live leaderboard would rank it.
    if ! .venv/bin/podium rank "${scored[@]}" --output "$results/ranking" 2>"$results/ranking-errors.txt"; then
      tail -n 1 "$results/ranking-errors.txt"
      echo
      .venv/bin/podium rank "${scored[@]}" --output "$results/ranking" --scheme platform
    fi
  fi
  echo
done

simulation=demo-output/lesions-simulation
echo "${bold}lesions: an algorithm and its simulated scribbles, six steps${plain}"
rm -rf "$simulation"
.venv/bin/podium simulate --algorithm "command:.venv/bin/python test/algorithms/threshold/process.py {input} {output}" \
  --images test/images/lesions --references ground-truth/lesions/references --output "$simulation" 2>demo-output/simulation.txt
.venv/bin/podium scribbles show psma_lmu_021 --simulation "$simulation" --step 3 \
  --images test/images/lesions --references ground-truth/lesions/references --output "$simulation.png" 2>>demo-output/simulation.txt
echo "Its predictions and scribbles are in $simulation/, one step drawn in $simulation.png."
echo
arena=demo-output/arena
echo "${bold}reports: an arena of the three teams, with CBCT volumes, intra-oral scans and photographs${plain}"
.venv/bin/podium arena viewer 2>demo-output/viewer.txt ||
  echo "NiiVue could not be fetched: volumes are shown as slices, scans as pictures. See demo-output/viewer.txt."
rm -rf "$arena"
.venv/bin/podium arena init "$arena" --ranking demo-output/reports/ranking/ranking.json --submissions test/submissions/reports \
  --cases test/arena-cases >demo-output/organiser-link.txt 2>demo-output/arena.txt
link=$(.venv/bin/podium arena invite "$arena" "Dr Demo" 2>>demo-output/arena.txt)
echo "Start it with  podium arena serve $arena  (after  . .venv/bin/activate)  and vote at
  $link
The organiser's page: $(<demo-output/organiser-link.txt)"
echo
echo "Each team's metrics.json, log.txt and errors.txt are in demo-output/<challenge>/<team>/, the ranking in ranking/.
Open demo-output/<challenge>/ranking/report.html and demo-output/<challenge>/<team>/report.html in a browser."
