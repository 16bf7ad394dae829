#!/usr/bin/env bash
# Makes what is released, in build/packages, and checks it: release.sh BUILD-DIRECTORY [make]; with `make`, only Debian's packages
# are made. They are installed into a root without build tools, made from the mirrors of this machine's Debian, and used there
# under MPI; so are those that are made for Debian 13 and Ubuntu 24.04, in roots of these, where their mirrors are reached. From the
# source archive RPMs are built, without a network; the container image is built on a root from the mirrors, and runs the demo.
# Needs root for the roots (mmdebstrap), and an hour.
set -euo pipefail
build=$(realpath "$1")
here=$(dirname "$(readlink -f "$0")")
out=$PWD/build/packages
version=$(sed -n 's/^project(culprit VERSION \([0-9.]*\).*/\1/p' "$here/../CMakeLists.txt")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
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
  say "source archive: culprit-$version.tar.gz"
}

# By Debian's rpmbuild, with what Fedora's macros stand for: that the archive builds without a network, and the spec lists each file; not
# that Fedora has what it asks for.
make_rpms() {
  "$here/check_recipes.py"
  rpmlint --config "$here/rpmlint.toml" "$here/culprit.spec" >"$out/rpmlint.log" || { cat "$out/rpmlint.log" >&2; fail "rpmlint: culprit.spec"; }
  local flags="-O2 -g1 -fexceptions -Wp,-D_FORTIFY_SOURCE=2 -Wp,-D_GLIBCXX_ASSERTIONS -fstack-protector-strong -fstack-clash-protection -fcf-protection"
  unshare -rn rpmbuild -bb --nodeps --define "_topdir $scratch/rpm" --define "_sourcedir $out" --define "_rpmdir $out" --define "dist .check" --define "python3_sitelib /usr/lib/python3/site-packages" \
    --define "cmake CFLAGS='$flags' CXXFLAGS='$flags' cmake -S . -B redhat-linux-build -DCMAKE_INSTALL_PREFIX=/usr -DLIB_SUFFIX=64 -DBUILD_SHARED_LIBS:BOOL=ON" \
    --define "cmake_build cmake --build redhat-linux-build -- --quiet" \
    --define "cmake_install DESTDIR=%{buildroot} cmake --install redhat-linux-build" \
    "$here/culprit.spec" >"$out/rpmbuild.log" 2>&1 || { tail -20 "$out/rpmbuild.log" >&2; fail "rpmbuild: culprit.spec"; }
  say "RPMs: $(cd "$out" && echo ./*/culprit-*.rpm): the archive builds without a network, the spec lists what it installs; not tried on Fedora"
}

# In an empty root, whose programs run with this machine's libraries: each MPI's package does what it is for, and is needed for that alone.
use_rpms() {
  local root=$scratch/rpms mpi
  local -x PATH=$root/usr/bin:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  rpm --force-debian --root "$root" --install --nodeps "$out"/*/"culprit-$version"-*.rpm
  mpirun.openmpi -n 2 hpcrun-lite -q -o "$root/run" python3 -c "sum(range(30000000))" || fail "RPMs: hpcrun-lite: does not work"
  prof-mpi -q "$root/run" -o "$root/alone.db" || fail "RPMs: prof-mpi: does not work"
  for mpi in openmpi mpich; do
    ! "mpirun.$mpi" -n 2 prof-mpi -q "$root/run" -o "$root/$mpi.db" 2>/dev/null || fail "RPMs: prof-mpi: runs under $mpi without its package"
    rpm --force-debian --root "$root" --install --nodeps "$out"/*/"culprit-$mpi-$version"-*.rpm
    "mpirun.$mpi" -n 2 prof-mpi -q "$root/run" -o "$root/$mpi.db" || fail "RPMs: culprit-$mpi: does not work"
    [ "$(viewer-cli "$root/$mpi.db" report)" = "$(viewer-cli "$root/alone.db" report)" ] || fail "RPMs: culprit-$mpi: the merged run differs"
  done
  say "RPMs: installed into an empty root, measured, and merged under each MPI with its package alone"
}

mirror_of() { # CODENAME
  if [ "$1" = noble ]; then echo http://archive.ubuntu.com/ubuntu; else echo http://deb.debian.org/debian; fi
}

is_reached() { # CODENAME
  curl -fsIL -m 30 -o /dev/null "$(mirror_of "$1")/dists/$1/Release"
}

# Debian 12 has no keys of Ubuntu; where somebody put them, signatures are checked.
make_root() { # CODENAME DIRECTORY PACKAGES
  local keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg source=()
  [ "$(id -u)" -eq 0 ] || fail "clean root: needs root (run as root, or install $out/*.deb on a clean machine)"
  if [ "$1" = noble ]; then
    if [ -e $keys ]; then keys="signed-by=$keys"; else keys=trusted=yes; fi
    source=("deb [$keys] $(mirror_of noble) noble main universe")
  fi
  mmdebstrap --variant=apt ${3:+--include="$3"} "$1" "$2" "${source[@]}" >"$out/root.log" 2>&1 ||
    { tail -5 "$out/root.log" >&2; fail "clean root: $1: could not be made"; }
  cp /etc/resolv.conf "$2/etc/resolv.conf" 2>/dev/null || true
}

in_root() { # DIRECTORY SCRIPT
  unshare -m sh -ec "mount --bind /proc '$1/proc' && mount --bind /dev '$1/dev' && mount --bind /sys '$1/sys' && exec chroot '$1' /bin/bash -ec '$2'"
}

use_in_clean_root() { # CODENAME PACKAGES
  local root=$scratch/$1
  make_root "$1" "$root" lammps,openmpi-bin
  cp "$2"/*.deb "$here/smoke.sh" "$here/../tests/apps/melt.in" "$root/root/"
  in_root "$root" /root/smoke.sh || fail "clean root: $1: the packages do not work"
  rm -rf "$root"
  say "clean root: $1: installed without build tools, measured LAMMPS, merged under both MPIs, and reported"
}

# Packages of one distribution do not install on another: libraries have other names there (Debian 12's libfmt9, libre2-9, libzydis4.0,
# libboost-serialization1.74.0 and libopenmpi3 are not on 13). So they are made from the archive on the other one.
make_packages_on() { # CODENAME
  local root=$scratch/$1-build
  make_root "$1" "$root" ""
  tar -xzf "$out/culprit-$version.tar.gz" -C "$root/root"
  in_root "$root" "cd /root/culprit-$version && ./dev release make" >"$out/$1.log" 2>&1 || { tail -20 "$out/$1.log" >&2; fail "packages: $1: cannot be made"; }
  mkdir "$out/$1"
  cp "$root/root/culprit-$version/build/packages"/*.deb "$out/$1"
  rm -rf "$root"
  say "packages: $1: $(cd "$out" && echo "$1"/*.deb)"
}

# Without Docker's registry: its image of Debian is what Debian's packages are.
make_image() {
  local image=culprit-check container
  mmdebstrap --variant=minbase bookworm "$scratch/base.tar" >"$out/base.log" 2>&1 || { tail -5 "$out/base.log" >&2; fail "image: bookworm: could not be made"; }
  container=$(buildah from scratch)
  buildah add "$container" "$scratch/base.tar" / >"$out/image.log"
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
  make_rpms
  use_rpms
  . /etc/os-release
  use_in_clean_root "$VERSION_CODENAME" "$out"
  for other in bookworm trixie noble; do
    if [ "$other" = "$VERSION_CODENAME" ]; then continue; fi
    if ! is_reached "$other"; then
      say "packages: $other: not made (its mirror is not reached from here)"
      continue
    fi
    make_packages_on "$other"
    use_in_clean_root "$other" "$out/$other"
  done
  make_image
fi
