#!/usr/bin/env bash
# Makes what is released, in build/packages, and checks it: release.sh BUILD-DIRECTORY [make]; with `make`, only Debian's packages
# are made. They are installed into a root without build tools, made from the mirrors of this machine's Debian, and used there
# under MPI; the source archive is built without a network, and from it an RPM; the container image is built on a root from the
# mirrors, and runs the demo. Needs root for the roots (mmdebstrap), and 40 minutes.
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
  unshare -rn sh -ec "cd '$source/culprit-$version' && cmake -G Ninja -S . -B build -DCULPRIT_TESTS=OFF -DCULPRIT_UNITY=ON >/dev/null &&
                      cmake --build build -- --quiet" || fail "culprit-$version.tar.gz: does not build without a network"
  say "culprit-$version.tar.gz: builds without a network"
}

# By Debian's rpmbuild, with what Fedora's macros stand for: that the spec builds and lists each file, not that Fedora has what it asks for.
make_rpm() {
  "$here/check_recipes.py"
  rpmlint --config "$here/rpmlint.toml" "$here/culprit.spec" >"$out/rpmlint.log" || { cat "$out/rpmlint.log" >&2; fail "rpmlint: culprit.spec"; }
  local flags="-O2 -g1 -fexceptions -Wp,-D_FORTIFY_SOURCE=2 -Wp,-D_GLIBCXX_ASSERTIONS -fstack-protector-strong -fstack-clash-protection -fcf-protection"
  rpmbuild -bb --nodeps --define "_topdir $source/rpm" --define "_sourcedir $out" --define "_rpmdir $out" --define "dist .check" --define "python3_sitelib /usr/lib/python3/site-packages" \
    --define "cmake CFLAGS='$flags' CXXFLAGS='$flags' cmake -S . -B redhat-linux-build -DCMAKE_INSTALL_PREFIX=/usr -DLIB_SUFFIX=64 -DBUILD_SHARED_LIBS:BOOL=ON" \
    --define "cmake_build cmake --build redhat-linux-build -- --quiet" \
    --define "cmake_install DESTDIR=%{buildroot} cmake --install redhat-linux-build" \
    "$here/culprit.spec" >"$out/rpmbuild.log" 2>&1 || { tail -20 "$out/rpmbuild.log" >&2; fail "rpmbuild: culprit.spec"; }
  say "RPM: $(cd "$out" && echo ./*/culprit-*.rpm): the spec builds, and installs what it lists; not tried on Fedora"
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
  say "clean root: $VERSION_CODENAME: installed without build tools, measured LAMMPS, merged under both MPIs, and reported"
}

# Without Docker's registry: its image of Debian is what Debian's packages are.
make_image() {
  local image=culprit-check container
  mmdebstrap --variant=minbase bookworm "$source/base.tar" >"$out/base.log" 2>&1 || { tail -5 "$out/base.log" >&2; fail "image: bookworm: could not be made"; }
  container=$(buildah from scratch)
  buildah add "$container" "$source/base.tar" / >"$out/image.log"
  buildah commit "$container" docker.io/library/debian:12 >>"$out/image.log" 2>&1
  buildah build --isolation chroot --network host --pull-never -f "$here/Containerfile" -t $image "$here/.." >>"$out/image.log" 2>&1 ||
    { tail -20 "$out/image.log" >&2; fail "image: Containerfile: does not build"; }
  container=$(buildah from --pull-never $image)
  buildah run --isolation chroot --network host "$container" -- /demo/demo.sh >"$out/image-demo.log" 2>&1 ||
    { tail -20 "$out/image-demo.log" >&2; fail "image: the demo fails"; }
  grep -q "LAMMPS_NS::" "$out/image-demo.log" || fail "image: the demo's report names no code of LAMMPS (see $out/image-demo.log)"
  say "image: built from packaging/Containerfile, and ran the demo"
}

make_packages
if [ "${2:-}" != make ]; then
  make_archive
  make_rpm
  use_in_clean_root
  make_image
fi
