#!/usr/bin/env bash
# From a fresh clone to the book: environment, notebooks, book. ./run_all.sh --help tells the rest.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lock="$here/requirements.lock"
hashes="$here/requirements.hashes"   # the same pins, each with the hashes of its files
venv="$here/.venv"

fail() { printf 'run_all.sh: %s\n' "$@" >&2; exit 1; }

fits() {  # is this a Python we support?
  "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

find_python() {
  local name seen=""
  for name in python3.11 python3.12 python3.13 python3 python; do
    command -v "$name" >/dev/null 2>&1 || continue
    if fits "$name"; then command -v "$name"; return; fi
    seen="$seen $("$name" --version 2>&1 | tr ' ' '-')"
  done
  fail "no Python 3.11, 3.12 or 3.13 found (found:${seen:- none})" \
       "  to mend: install one (Debian: apt install python3 python3-venv), or set RELIC_PYTHON" \
       "  or use conda: conda env create -f environment.yml && conda activate relic"
}

digest() { "$1" -c 'import hashlib, sys; print(hashlib.sha256(b"".join(open(f, "rb").read() for f in sys.argv[1:])).hexdigest())' "$lock" "$here/pyproject.toml"; }

count_packages() {  # what pip is at, on one line of a terminal
  local packages seen=0 line
  packages=$(grep -c '==' "$lock")
  while IFS= read -r line; do
    case $line in Collecting*) seen=$((seen + 1)) ;; "Installing collected"*) line="installing" ;; *) continue ;; esac
    [ -t 2 ] && printf '\r\033[K  package %d of %d: %.60s' "$seen" "$packages" "$line" >&2
  done
  [ -t 2 ] && printf '\r\033[K' >&2
  return 0
}

make_venv() {  # .venv from the lock; a stamp written last says it is complete
  local base wanted
  base=$(find_python)
  wanted=$(digest "$base")
  if [ -x "$venv/bin/python" ] && [ "$(cat "$venv/relic-lock" 2>/dev/null)" = "$wanted" ]; then return; fi
  echo "setting up .venv from requirements.lock: about 3 minutes and 2.6 GB" >&2
  rm -f "$venv/relic-lock"
  if ! fits "$venv/bin/python"; then
    rm -rf "$venv"
    "$base" -m venv "$venv" || { rm -rf "$venv"; fail "$base cannot make a virtual environment" \
      "  to mend: install its venv module (Debian: apt install python3-venv), or set RELIC_PYTHON"; }
  fi
  local log="$venv/install.log" pip=("$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar off)
  # Verified files first; the lock then adds only what a CUDA build of torch brings, which no lock can name.
  if ! { "${pip[@]}" --no-deps --require-hashes -r "$hashes" && "${pip[@]}" --quiet -r "$lock"; } 2>&1 |
      tee "$log" | count_packages; then
    grep -v '^WARNING: Location' "$log" | tail -n 12 >&2
    fail "pip could not install requirements.lock (all of its output: $log)" \
         "  to mend: behind a proxy set HTTPS_PROXY; the same command continues"
  fi
  "$venv/bin/python" -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation -e "$here" ||
    fail "pip could not install this repository itself" "  to mend: see its message above; then the same command again"
  echo "$wanted" > "$venv/relic-lock"
}

wrong_python() {
  local said
  said=$("$1" --version 2>&1 | head -n 1) || true
  fail "$1 is not Python 3.11, 3.12 or 3.13 (${said:-it does not say what it is})" \
       "  to mend: set RELIC_PYTHON to a Python that has requirements.lock installed, or unset it"
}

choose_python() {  # RELIC_PYTHON, an active environment named relic, or .venv
  local active="${VIRTUAL_ENV:-${CONDA_PREFIX:-}}"
  if [ -n "${RELIC_PYTHON:-}" ]; then
    python=$RELIC_PYTHON
  elif [ "${CONDA_DEFAULT_ENV:-}" = relic ] || [ "$(basename "${active:-none}")" = relic ]; then
    python=$(command -v python)
  else
    make_venv
    python="$venv/bin/python"
    return
  fi
  fits "$python" || wrong_python "$python"
  "$python" -c 'import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, ("papermill", "jupyter_book"))))' || fail "$python lacks packages of the lock" \
    "  to mend: $python -m pip install -r requirements.lock && $python -m pip install --no-deps -e ."
}

# Wrong options should not cost an installation, so any Python that fits checks them first.
checker=${RELIC_PYTHON:-}
[ -z "$checker" ] || fits "$checker" || wrong_python "$checker"
[ -n "$checker" ] || { [ -x "$venv/bin/python" ] && checker="$venv/bin/python"; } || checker=$(find_python)
"$checker" "$here/relic/book/options.py" "$@" || exit $?
case " $* " in *" --test "*) ;; *" --help "* | *" -h "*) exit 0 ;; esac

choose_python
export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}"
case " $* " in
  *" --test "*)
    arguments=(-n 2 --dist loadfile --no-loadscope-reorder)  # -n 0 among the options: one process
    for argument in "$@"; do
      case $argument in --test) ;; --quick) arguments+=(-m "not slow"); unset RELIC_DATA ;; *) arguments+=("$argument") ;; esac
    done
    export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
    cd "$here"
    "$python" -m ruff check .
    "$python" -m ruff format --check .
    "$python" -m mypy
    exec "$python" -m pytest "${arguments[@]}"
    ;;
esac
exec "$python" -P -m relic.book "$@"  # -P: a relic in the working directory is not ours
