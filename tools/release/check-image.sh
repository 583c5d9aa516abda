#!/usr/bin/env bash
# Executes the steps of examples/operating/Containerfile and runs the image: see check_image.py. npm run check:image
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet dockerfile-parse==2.0.1
"$work/venv/bin/python" "$(dirname "$0")/check_image.py" "$@"
