#!/usr/bin/env bash
# Makes what is released, in build/packages, and checks it: release.sh BUILD-DIRECTORY [make]; with `make`, only the packages
# are made. They are installed into a root without build tools, made from the mirrors of this machine's Debian, and used there
# under MPI; the source archive is built without a network. Needs root for the roots (mmdebstrap), and 15 minutes.
set -euo pipefail
build=$(realpath "$1")
here=$(dirname "$(readlink -f "$0")")
out=$PWD/build/packages
version=$(sed -n 's/^project(culprit VERSION \([0-9.]*\).*/\1/p' "$here/../CMakeLists.txt")
say() { echo "release: $*"; }
fail() { echo "release: $*" >&2; exit 1; }

make_packages() {
  rm -rf "$out"
  mkdir -p "$out"
  (cd "$build" && cpack -G DEB -B "$out" >"$out/cpack.log") || { cat "$out/cpack.log" >&2; fail "cpack: failed"; }
  rm -rf "$out/_CPack_Packages"
  say "packages: $(cd "$out" && echo ./*.deb)"
  if command -v lintian >/dev/null; then
    # The runtime path serves MPIs in prefixes of their own; the libraries are no one else's.
    lintian --suppress-tags custom-library-search-path,maintscript-calls-ldconfig --fail-on error,warning "$out"/*.deb
    say "lintian: no complaint"
  fi
}

make_archive() {
  (cd "$here/.." && git archive --prefix="culprit-$version/" HEAD) | gzip -9n >"$out/culprit-$version.tar.gz"
  source=$(mktemp -d)
  trap 'rm -rf "$source"' EXIT
  tar -xzf "$out/culprit-$version.tar.gz" -C "$source"
  unshare -rn sh -ec "cd '$source/culprit-$version' && cmake -G Ninja -S . -B build -DCULPRIT_TESTS=OFF >/dev/null &&
                      cmake --build build -- --quiet" || fail "culprit-$version.tar.gz: does not build without a network"
  say "culprit-$version.tar.gz: builds without a network"
}

use_in_clean_root() {
  [ "$(id -u)" -eq 0 ] || fail "clean root: needs root (run as root, or install $out/*.deb on a clean machine)"
  . /etc/os-release
  root=$source/root
  mmdebstrap --variant=apt --include=lammps,openmpi-bin "$VERSION_CODENAME" "$root" >"$out/root.log" 2>&1 ||
    { tail -5 "$out/root.log" >&2; fail "clean root: $VERSION_CODENAME: could not be made"; }
  cp "$out"/*.deb "$here/smoke.sh" "$here/../tests/apps/melt.in" "$root/root/"
  cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
  unshare -m sh -ec "mount --bind /proc '$root/proc' && mount --bind /dev '$root/dev' && exec chroot '$root' /bin/bash /root/smoke.sh" ||
    fail "clean root: $VERSION_CODENAME: the packages do not work"
  say "clean root: $VERSION_CODENAME: installed without build tools, measured LAMMPS, merged under mpirun, and reported"
}

make_packages
if [ "${2:-}" != make ]; then
  make_archive
  use_in_clean_root
fi
