#!/usr/bin/env bash
# Installs what Stretto is built from, from Debian 12's packages. Does nothing when all of it is there.
set -euo pipefail
packages=(
  cmake ninja-build g++ ccache
  llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools clang-22 lld-22
  libdnnl-dev libflatbuffers-dev flatbuffers-compiler nlohmann-json3-dev libcli11-dev
  libfmt-dev libxxhash-dev libgtest-dev python3 clang-format
)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "installing ${missing[*]}" >&2
sudo=$([ "$(id -u)" -eq 0 ] || echo sudo)
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -q >&2
$sudo apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
