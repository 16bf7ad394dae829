#!/usr/bin/env bash
# with_libraries.sh COMMAND...: runs it where the libraries of $CULPRIT_ARM64 lie at the paths that measured programs had them at, beside this machine's.
set -euo pipefail
exec unshare --user --map-root-user --mount bash -c '
  root=$CULPRIT_ARM64/root
  mount -t overlay overlay -o "lowerdir=/usr/lib:$root/usr/lib:$root/lib" /usr/lib
  exec "$@"' _ "$@"
