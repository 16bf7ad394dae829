#!/usr/bin/env bash
# emulated.sh COMMAND...: runs it where programs of aarch64 start under the emulator of $CULPRIT_ARM64, and their libraries lie beside this machine's.
# In a user name space of its own, so that nothing outside of it changes (Linux 6.7 and later). QEMU_LD_PREFIX would do for the libraries alone, but
# also hides this machine's root directory.
set -euo pipefail
: "${CULPRIT_ARM64:?is not set (run ./dev test --arch arm64)}"
# Already inside, as programs are that tests start by this script.
[ -z "${CULPRIT_EMULATED:-}" ] || exec "$@"
export CULPRIT_EMULATED=1
exec unshare --user --map-root-user --mount bash -c '
  root=$CULPRIT_ARM64/root
  mount -t overlay overlay -o "lowerdir=/usr/lib:$root/usr/lib:$root/lib" /usr/lib
  mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
  magic="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
  mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
  printf "%s" ":aarch64:M::$magic:$mask:$CULPRIT_ARM64/emulator/usr/bin/qemu-aarch64-static:" >/proc/sys/fs/binfmt_misc/register
  exec "$@"' _ "$@"
