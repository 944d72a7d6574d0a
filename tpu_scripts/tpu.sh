#!/usr/bin/env bash
# One TPU host or pod, from creation to deletion. `tpu.sh --help` lists the verbs.
set -euo pipefail

usage() {
  cat <<'TEXT'
tpu.sh [--dry-run] VERB [ARGUMENTS]

  create            a TPU VM (default v3-8; SPOT=1 for a pre-emptible one)
  setup             copy this checkout to every worker, install the pins and the TPU wheel
  run COMMAND...    run `COMMAND` of the virtual environment on every worker, in the background; the same command
                    again, on a new TPU after pre-emption too, goes on from MODEL_DIR or --out on Cloud Storage
  watch             follow the log of worker 0
  fetch FROM TO     copy FROM on worker 0 to TO here
  delete            delete the TPU VM

Environment: TPU_NAME (required), ZONE (required), TPU_TYPE (v3-8), TPU_VERSION (tpu-ubuntu2204-base), SPOT.
--dry-run prints the commands and runs none.
TEXT
}

dry_run=
if [[ "${1:-}" == --dry-run ]]; then dry_run=1; shift; fi
verb="${1:-}"
if [[ -z "$verb" || "$verb" == --help ]]; then usage; [[ -n "$verb" ]]; exit; fi
shift
: "${TPU_NAME:?set TPU_NAME to the name of the TPU}" "${ZONE:?set ZONE, for example europe-west4-a}"
TPU_TYPE="${TPU_TYPE:-v3-8}"
TPU_VERSION="${TPU_VERSION:-tpu-ubuntu2204-base}"
checkout="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

call() {
  if [[ -n "$dry_run" ]]; then printf '%q ' "$@"; echo; else "$@"; fi
}

on_workers() {  # WORKERS COMMAND
  call gcloud compute tpus tpu-vm ssh "$TPU_NAME" --zone="$ZONE" --worker="$1" --command="$2"
}

case "$verb" in
  create)
    spot=()
    if [[ -n "${SPOT:-}" ]]; then spot=(--spot); fi
    call gcloud compute tpus tpu-vm create "$TPU_NAME" --zone="$ZONE" --accelerator-type="$TPU_TYPE" \
      --version="$TPU_VERSION" ${spot[@]+"${spot[@]}"}
    ;;
  setup)
    archive="$(mktemp -d)/lisax.tar.gz"
    call git -C "$checkout" archive --format=tar.gz --output="$archive" HEAD
    call gcloud compute tpus tpu-vm scp "$archive" "$TPU_NAME:lisax.tar.gz" --zone="$ZONE" --worker=all
    on_workers all "mkdir -p lisax && tar -xzf lisax.tar.gz -C lisax && cd lisax && make venv && .venv/bin/pip install -q -e '.[tpu]'"
    ;;
  run)
    if [[ $# -eq 0 ]]; then echo "tpu.sh run needs a command, for example: run lisax train --gin_file=…" >&2; exit 2; fi
    printf -v command '%q ' "$@"
    on_workers all "cd lisax && PATH=\$PWD/.venv/bin:\$PATH nohup $command >> run.log 2>&1 < /dev/null & sleep 1"
    ;;
  watch) on_workers 0 "tail -n 100 -F lisax/run.log" ;;
  fetch)
    if [[ $# -ne 2 ]]; then echo "tpu.sh fetch needs FROM and TO" >&2; exit 2; fi
    call gcloud compute tpus tpu-vm scp --recurse "$TPU_NAME:$1" "$2" --zone="$ZONE" --worker=0
    ;;
  delete) call gcloud compute tpus tpu-vm delete "$TPU_NAME" --zone="$ZONE" --quiet ;;
  *) echo "tpu.sh: no verb '$verb'" >&2; usage >&2; exit 2 ;;
esac
