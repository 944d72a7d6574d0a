#!/usr/bin/env bash
# One TPU host or a pod of several, from creation to deletion. `tpu.sh --help` lists the verbs.
#
# Versions. Google's table of TPU software versions gives the names in `runtime` below. JAX takes libtpu from the wheel that
# the extra `tpu` installs: 0.0.42.* for jax 0.10.2, with which `lisax plan` compiles for every generation from v2 to TPU7x.
# Not verified, for want of a TPU: that these images and this libtpu start.
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
they make in BUCKET/TPU_NAME, a folder for one run; without BUCKET they are not started, after `env X=…` neither. The same
command then resumes from its last checkpoint; to have that done until you press Ctrl-C:
  while sleep 300; do tpu.sh resume lisax train …; done

The workers have the last commit: a --gin_file that is not in it, or was changed since, is refused. LISAX_DATA is passed on
if it is a bucket's folder, and refused if it is one of this machine.

Environment:
  TPU_NAME, ZONE     required
  BUCKET             gs://NAME or gs://NAME/FOLDER; BUCKET=none leaves COMMAND as it is (where a gin file has MODEL_DIR)
  TPU_TYPE           v3-8, or another of v2, v3, v4, v5litepod, v5p and v6e; v3-32 is a pod of four hosts
  TPU_VERSION        the software version; by default Google's for TPU_TYPE
  LISAX_DATA         gs://NAME/FOLDER, for COMMAND
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
type="${type/#v5e-/v5litepod-}"
size="${type##*-}"
[[ $type == *-* && $size =~ ^[1-9][0-9]*$ ]] || fail "TPU_TYPE must be a type and a size, such as v3-8, found '$type'" 2
case "${type%-*}" in
  v2 | v3 | v4) runtime=tpu-ubuntu2204-base ;;
  v5litepod) runtime=v2-alpha-tpuv5-lite ;;
  v5p) runtime=v2-alpha-tpuv5 ;;
  v6e) runtime=v2-alpha-tpuv6e ;;
  tpu7x) fail "Google rents TPU7x by Kubernetes Engine and Compute Engine only, not by 'gcloud compute tpus'" 2 ;;
  *) fail "no TPU_TYPE '$type': there are v2, v3, v4, v5litepod, v5p and v6e, each with -SIZE" 2 ;;
esac
version="${TPU_VERSION:-$runtime}"
# A host has eight cores of v2 to v5p, which are four chips. Of v5e and v6e the size counts chips: up to eight are on one
# host, more on hosts of four.
case "${type%-*}" in
  v5litepod | v6e) hosts=$((size > 8 ? size / 4 : 1)) ;;
  *) hosts=$((size > 8 ? size / 8 : 1)) ;;
esac
for name in SPOT QUEUED; do
  case "${!name:=1}" in 0 | 1) ;; *) fail "$name must be 0 or 1, found '${!name}'" 2 ;; esac
done
case "${BUCKET:=}" in
  '' | none | gs://?*) ;;
  *) fail "BUCKET must be gs://NAME, gs://NAME/FOLDER or none, found '$BUCKET'" 2 ;;
esac
vm=(gcloud compute tpus tpu-vm)
queue=(gcloud compute tpus queued-resources)
# `tpu-vm` connects to one worker after the other. Its alpha version and `queued-resources` know --batch-size.
if ((hosts == 1)); then
  workers=("${vm[@]}")
elif [[ $QUEUED == 1 ]]; then
  workers=("${queue[@]}")
else
  workers=(gcloud alpha compute tpus tpu-vm)
fi
all=(--zone="$ZONE" --worker=all)
if ((hosts > 1)); then all+=(--batch-size="$hosts"); fi
checkout="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

call() {
  if [[ -n "$dry_run" ]]; then printf '%q ' "$@"; echo; else "$@"; fi
}

key_in_agent() {  # gcloud connects to several workers only with its key in ssh's agent
  local key="$HOME/.ssh/google_compute_engine"
  if ((hosts == 1)); then return; fi
  if [[ ! -e $key ]]; then call "${vm[@]}" ssh "$TPU_NAME" --zone="$ZONE" --worker=0 --command=true; fi
  if [[ -n "$dry_run" ]]; then call ssh-add "$key"; return; fi
  if [[ -z "${SSH_AUTH_SOCK:-}" ]]; then
    eval "$(ssh-agent -s)" > /dev/null
    trap 'ssh-agent -k > /dev/null' EXIT
  fi
  ssh-add -q "$key" || fail "ssh-add does not take $key, without which gcloud reaches one worker only"
}

on_workers() {  # COMMAND
  key_in_agent
  call "${workers[@]}" ssh "$TPU_NAME" "${all[@]}" --command="$1"
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
  install+=" && echo $(commit) > commit"
  call git -C "$checkout" archive --format=tar.gz --output="$archive" HEAD
  key_in_agent
  call "${workers[@]}" scp "$archive" "$TPU_NAME:lisax.tar.gz" "${all[@]}"
  call rm "$archive"
  on_workers "$install"
}

commit() { git -C "$checkout" rev-parse HEAD; }

kept() {  # COMMAND...: sets `words` to it, with a place for what it makes that outlives the TPU
  [[ $# -gt 0 ]] || fail "$verb needs a command, for example: $verb lisax train --gin_file=…" 2
  words=("$@")
  local option='' i
  for ((i = 0; i + 1 < $#; i++)); do
    # After `env X=…`, `nohup` or `python -m` too.
    case "${words[i]##*/} ${words[i + 1]}" in
      'lisax train') option=--gin.MODEL_DIR ;;
      'lisax run') option=--out ;;
      *) continue ;;
    esac
    break
  done
  if [[ -z $option && " $* " == *lisax\ train\ * ]]; then option=--gin.MODEL_DIR; fi
  if [[ -z $option && " $* " == *lisax\ run\ * ]]; then option=--out; fi
  if [[ -z $option || $BUCKET == none || " $* " == *[\ \'\"]"$option"[=\ ]* ]]; then return; fi
  [[ -n $BUCKET ]] || fail "this would lose what it makes with the TPU: set BUCKET=gs://NAME, or give $option=gs://…" 2
  ((i + 1 < $#)) || fail "give the words of 'lisax …' as they are, or $option=gs://… in what a shell is to run" 2
  words+=("$option=${BUCKET%/}/$TPU_NAME")
}

there() {  # COMMAND...: fails if it names files that are here only
  local previous='' word file at
  for word in "$@"; do
    case "$word" in
      --gin_file=*) file="${word#*=}" ;;
      *) file=''; if [[ $previous == --gin_file ]]; then file="$word"; fi ;;
    esac
    previous="$word"
    if [[ -z $file || $file == gs://* ]]; then continue; fi
    at=''
    for at in "$file" "gin_configs/$file" ''; do
      if [[ -n $at ]] && git -C "$checkout" cat-file -e "HEAD:${at#./}" 2> /dev/null; then break; fi
    done
    [[ -n $at ]] || fail "$file is not in the last commit, which is what the workers have: commit it" 2
    git -C "$checkout" diff --quiet HEAD -- "$at" || fail "$file was changed since the last commit, which is what the workers have: commit it" 2
  done
  case "${LISAX_DATA:=}" in
    '' | gs://?*) ;;
    *) fail "LISAX_DATA is $LISAX_DATA, which the workers do not have: copy it to a bucket, and set LISAX_DATA=gs://…" 2 ;;
  esac
}

run() {
  local words line start variables=''
  kept "$@"
  there "$@"
  # On several hosts the processes of `lisax train` find each other.
  if ((hosts > 1)); then variables=' LISAX_MULTIPROCESS=1'; fi
  if [[ -n $LISAX_DATA ]]; then printf -v variables '%s LISAX_DATA=%q' "$variables" "$LISAX_DATA"; fi
  printf -v line '%q ' "${words[@]}"
  # The dollars are the worker's.
  # shellcheck disable=SC2016
  start='cd lisax && test -x .venv/bin/python || { echo "set this worker up first: tpu.sh setup"; exit 1; }
if test -s run.pid && kill -0 "$(cat run.pid)" 2> /dev/null; then echo "it still runs"; exit; fi
test "$(cat commit)" = '"$(commit)"' || { echo "this worker has another commit: tpu.sh setup"; exit 1; }
export PATH="$PWD/.venv/bin:$PATH"'"$variables"'
nohup '"$line"'>> run.log 2>&1 < /dev/null &
echo $! > run.pid'
  on_workers "$start"
}

resume() {
  local now='' words
  kept "$@"  # which fails before a TPU is asked for
  there "$@"
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
  watch) call "${vm[@]}" ssh "$TPU_NAME" --zone="$ZONE" --worker="${1:-0}" --command='tail -n 100 -F lisax/run.log' ;;
  *) "$verb" "$@" ;;
esac
