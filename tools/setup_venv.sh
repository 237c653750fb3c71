#!/bin/sh
# Create a virtual environment and install asyncguard into it (editable) with dependency groups.
# usage: setup_venv.sh VENV --group NAME...
# Environment: PYTHON, PIP_INSTALL_ARGS.
set -eu
venv=$1
shift

fail() {
    printf '\nasyncguard: %s\n' "$1" >&2
    exit 2
}

[ -n "${PYTHON:-}" ] || fail "no Python found: install Python 3.11, or call 'make PYTHON=/path/to/python3.11 ...'"
"$PYTHON" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' ||
    fail "$("$PYTHON" --version) at $PYTHON cannot hold the test environment (its frameworks need Python 3.10 to 3.13); call 'make PYTHON=python3.11 ...'"

echo "asyncguard: setting up $venv with $("$PYTHON" --version) (once; a few minutes, about 3 GB)"
[ -x "$venv/bin/python" ] || "$PYTHON" -m venv "$venv" ||
    fail "'$PYTHON -m venv' failed: install the venv module (Debian, Ubuntu: apt-get install python3-venv)"
"$venv/bin/python" -m pip install --quiet --upgrade 'pip>=25.1' ||
    fail "pip could not be upgraded: check the network, and PIP_INDEX_URL if you use a mirror"
# shellcheck disable=SC2086  # PIP_INSTALL_ARGS is a list of words
"$venv/bin/python" -m pip install ${PIP_INSTALL_ARGS:-} "$@" &&
    "$venv/bin/python" -m pip install --quiet --quiet ${PIP_INSTALL_ARGS:-} --editable . ||
    fail "installing the packages failed, see above; run the same command again to go on where it stopped"
