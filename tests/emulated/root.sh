#!/usr/bin/env bash
# root.sh DIRECTORY PACKAGE...: unpacks Debian's arm64 packages into DIRECTORY/root and the emulator into DIRECTORY/emulator, once; installs nothing.
set -euo pipefail
directory=$1
shift
[ ! -e "$directory/complete" ] || [ "$(cat "$directory/complete")" != "$*" ] || exit 0
rm -rf "$directory/root" "$directory/emulator" "$directory/complete"
mkdir -p "$directory/emulator"
. /etc/os-release
packages=$(printf '%s,' "$@")
mmdebstrap --arch=arm64 --variant=extract --include="${packages%,}" "$VERSION_CODENAME" "$directory/root" >"$directory/root.log" 2>&1 || {
  tail -5 "$directory/root.log" >&2
  echo "dev: test: $directory/root: arm64 packages cannot be unpacked (see $directory/root.log)" >&2
  exit 1
}
# Absolute links lead out of the root: the linker would take libtinfo.a for libtinfo.so, and curses be there twice.
find "$directory/root" -type l -lname '/*' | while read -r link; do
  ln -sfnr "$directory/root$(readlink "$link")" "$link"
done
(cd "$directory/emulator" && apt-get -qq download qemu-user-static && dpkg -x qemu-user-static_*.deb . && rm qemu-user-static_*.deb)
printf '%s' "$*" >"$directory/complete"
