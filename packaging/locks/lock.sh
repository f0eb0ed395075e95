#!/bin/sh
# Writes the lock files anew. Each is resolved for the system it is for, not for the one this runs on: pip's own
# `download --platform` judges markers by the machine it runs on and so loses Windows-only requirements.
set -eu
cd "$(dirname "$0")/../.."
lock() {
    target=$1 python=$2 name=$3
    shift 3
    .venv/bin/uv pip compile --quiet --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
        --no-annotate --python-platform "$target" --python-version "$python" -o "packaging/locks/$name.txt" "$@"
}
lock linux 3.11 linux-runtime pyproject.toml
lock linux 3.11 linux-dev pyproject.toml --extra test --extra lab --extra docs --extra lint
lock windows 3.13 windows-runtime pyproject.toml
lock windows 3.13 windows-dev pyproject.toml --extra build --extra test
lock linux 3.11 lab packaging/locks/lab.in
lock linux 3.11 audit packaging/locks/audit.in
lock linux 3.11 cloudbase-init packaging/locks/cloudbase-init.in
# pymi has no wheel for this Python; the others it has already, or nothing of what runs there imports them.
lock windows 3.13 windows-cloudbase-init packaging/locks/cloudbase-init.in --no-emit-package pymi \
    --no-emit-package pywin32 --no-emit-package comtypes --no-emit-package setuptools
