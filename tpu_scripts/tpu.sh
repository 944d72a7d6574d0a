#!/usr/bin/env bash
# One TPU host or a pod of several, from creation to deletion. `tpu.sh --help` lists the verbs.
#
# Versions. Google's table of TPU software versions gives tpu-ubuntu2204-base for v4 and older, so for v2 and v3; v5e
# wants v2-alpha-tpuv5-lite, v5p v2-alpha-tpuv5, v6e v2-alpha-tpuv6e. JAX takes libtpu from the wheel that the extra
# `tpu` installs: 0.0.42.* beside jax 0.10.2. Its compiler still builds programs for v3, as that of 0.0.51 does, which
# `lisax plan` uses.
# Not verified, for want of a TPU: that this image and this libtpu start on a v3 host. No note on its end was found.
set -euo pipefail

usage() {
  cat <<'TEXT'
tpu.sh [--dry-run] VERB [ARGUMENTS]

  create             ask for the TPU; the request waits in Google's queue
  wait               until the TPU is there
  setup              copy this checkout's last commit to every worker, install the pins and the TPU wheel there
  run COMMAND...     start COMMAND on every worker in the background; where it still runs, nothing is started
  watch [WORKER]     follow the log of a worker (0)
  resume COMMAND...  after pre-emption: create, wait for and set up what is gone, then as `run`; does no harm before
  fetch FROM TO      copy FROM on worker 0, or on Cloud Storage (gs://…), to TO here
  delete             delete the TPU, and its request

A pre-empted TPU loses its disk. `lisax train` without --gin.MODEL_DIR, and `lisax run` without --out, therefore keep what
they make in BUCKET/TPU_NAME, a folder for one run; without BUCKET they are not started. The same command then goes on from
its last checkpoint; to have that done until you press Ctrl-C:
  while sleep 300; do tpu.sh resume lisax train …; done

Environment:
  TPU_NAME, ZONE     required
  BUCKET             gs://NAME or gs://NAME/FOLDER; BUCKET=none leaves COMMAND as it is (where a gin file has MODEL_DIR)
  TPU_TYPE           v3-8; v3-32 is a pod of four hosts
  TPU_VERSION        tpu-ubuntu2204-base
  SPOT=0             to pay for a TPU that is not pre-empted
  QUEUED=0           to ask outside the queue: there at once or not at all. For all verbs the same
  POLL_SECONDS       60, between looks at the queue

--dry-run prints the commands, quoted for a shell, and runs none.
TEXT
}

fail() { echo "tpu.sh: $1" >&2; exit "${2:-1}"; }

dry_run=
if [[ "${1:-}" == --dry-run ]]; then dry_run=1; shift; fi
verb="${1:-}"
case "$verb" in
  --help) usage; exit ;;
  create | wait | setup | run | watch | resume | fetch | delete) shift ;;
  '') usage >&2; exit 2 ;;
  *) usage >&2; fail "no verb '$verb'" 2 ;;
esac
: "${TPU_NAME:?set TPU_NAME to the name of the TPU}" "${ZONE:?set ZONE, for example europe-west4-a}"
type="${TPU_TYPE:-v3-8}"
version="${TPU_VERSION:-tpu-ubuntu2204-base}"
for name in SPOT QUEUED; do
  case "${!name:=1}" in 0 | 1) ;; *) fail "$name must be 0 or 1, found '${!name}'" 2 ;; esac
done
case "${BUCKET:=}" in
  '' | none | gs://?*) ;;
  *) fail "BUCKET must be gs://NAME, gs://NAME/FOLDER or none, found '$BUCKET'" 2 ;;
esac
vm=(gcloud compute tpus tpu-vm)
queue=(gcloud compute tpus queued-resources)
checkout="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

call() {
  if [[ -n "$dry_run" ]]; then printf '%q ' "$@"; echo; else "$@"; fi
}

on_workers() {  # WORKER|all COMMAND
  call "${vm[@]}" ssh "$TPU_NAME" --zone="$ZONE" --worker="$1" --command="$2"
}

create() {
  local options=(--zone="$ZONE" --accelerator-type="$type")
  if [[ $SPOT == 1 ]]; then options+=(--spot); fi
  if [[ $QUEUED == 1 ]]; then
    call "${queue[@]}" create "$TPU_NAME" --node-id="$TPU_NAME" --runtime-version="$version" "${options[@]}"
  else
    call "${vm[@]}" create "$TPU_NAME" --version="$version" "${options[@]}"
  fi
}

delete() {
  if [[ $QUEUED == 1 ]]; then
    call "${queue[@]}" delete "$TPU_NAME" --zone="$ZONE" --force --quiet
  else
    call "${vm[@]}" delete "$TPU_NAME" --zone="$ZONE" --quiet
  fi
}

state() {  # prints it; fails where there is no such TPU
  if [[ $QUEUED == 1 ]]; then
    call "${queue[@]}" describe "$TPU_NAME" --zone="$ZONE" --format='value(state.state)'
  else
    call "${vm[@]}" describe "$TPU_NAME" --zone="$ZONE" --format='value(state)'
  fi
}

wait_for_it() {
  if [[ -n "$dry_run" ]]; then state; return; fi
  local now
  while now="$(state)"; do
    case "$now" in
      READY | ACTIVE) return ;;
      FAILED | SUSPENDING | SUSPENDED | PREEMPTED | TERMINATED | DELETING)
        fail "$TPU_NAME is $now; 'tpu.sh resume' deletes it and asks again" ;;
    esac
    echo "$TPU_NAME is $now" >&2
    sleep "${POLL_SECONDS:-60}"
  done
  fail "there is no TPU or request named $TPU_NAME in $ZONE; 'tpu.sh create' asks for one"
}

setup() {
  local archive="${TMPDIR:-/tmp}/lisax-$TPU_NAME.tar.gz"
  # uv, because the image's Python is 3.10 and LisaX needs 3.11 or 3.12.
  local install='mkdir -p lisax && tar -xzf lisax.tar.gz -C lisax && cd lisax'
  install+=' && python3 -I -m pip install --quiet --user uv==0.13.8'
  install+=' && { test -x .venv/bin/python || ~/.local/bin/uv venv --quiet --python 3.11; }'
  install+=" && ~/.local/bin/uv pip install --quiet -r requirements.txt -e '.[tpu,gcs]'"
  call git -C "$checkout" archive --format=tar.gz --output="$archive" HEAD
  call "${vm[@]}" scp "$archive" "$TPU_NAME:lisax.tar.gz" --zone="$ZONE" --worker=all
  call rm "$archive"
  on_workers all "$install"
}

kept() {  # COMMAND...: sets `words` to it, with a place for what it makes that outlives the TPU
  [[ $# -gt 0 ]] || fail "$verb needs a command, for example: $verb lisax train --gin_file=…" 2
  words=("$@")
  local option
  case "$1 ${2:-}" in
    'lisax train') option=--gin.MODEL_DIR ;;
    'lisax run') option=--out ;;
    *) return 0 ;;
  esac
  if [[ $BUCKET == none || " $* " == *" $option"[=\ ]* ]]; then return; fi
  [[ -n $BUCKET ]] || fail "$1 $2 would lose what it makes with the TPU: set BUCKET=gs://NAME, or give $option=gs://…" 2
  words+=("$option=${BUCKET%/}/$TPU_NAME")
}

run() {
  local words line pod=0
  kept "$@"
  # Every type has up to 8 cores or chips a host; on more, the hosts' `lisax train` find each other.
  if ((${type##*-} > 8)); then pod=1; fi
  printf -v line '%q ' "${words[@]}"
  # The dollars are the worker's.
  # shellcheck disable=SC2016
  local start='cd lisax && test -x .venv/bin/python || { echo "set this worker up first: tpu.sh setup"; exit 1; }
if test -s run.pid && kill -0 "$(cat run.pid)" 2> /dev/null; then echo "it still runs"; exit; fi
export PATH="$PWD/.venv/bin:$PATH" LISAX_MULTIPROCESS='"$pod"'
nohup '"$line"'>> run.log 2>&1 < /dev/null &
echo $! > run.pid'
  on_workers all "$start"
}

resume() {
  local now='' words
  kept "$@"  # which fails before a TPU is asked for
  if [[ -n "$dry_run" ]]; then
    state; delete
  elif now="$(state 2> /dev/null)"; then
    case "$now" in
      READY | ACTIVE) run "$@" || { setup; run "$@"; }; return ;;
      CREATING | STARTING | REPAIRING | ACCEPTED | PROVISIONING | WAITING_FOR_RESOURCES) ;;
      *) delete; now='' ;;
    esac
  fi
  if [[ -z "$now" ]]; then create; fi
  wait_for_it
  setup
  run "$@"
}

fetch() {
  [[ $# -eq 2 ]] || fail "fetch needs FROM and TO" 2
  case "$1" in
    gs://*) call gcloud storage cp --recursive "$1" "$2" ;;
    *) call "${vm[@]}" scp --recurse "$TPU_NAME:$1" "$2" --zone="$ZONE" --worker=0 ;;
  esac
}

case "$verb" in
  wait) wait_for_it ;;
  watch) on_workers "${1:-0}" 'tail -n 100 -F lisax/run.log' ;;
  *) "$verb" "$@" ;;
esac
