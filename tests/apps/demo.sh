#!/usr/bin/env bash
# Measures two MPI programs as a user would, merges, and shows the diagnosis. Usage: demo.sh [BUILD]: with the tools of BUILD,
# which are installed below it, or with those of PATH.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
work=${1:-.}/demo
rm -rf "$work"
mkdir -p "$work"
work=$(realpath "$work")
if [ $# -gt 0 ]; then
  cmake --install "$1" --prefix "$work/prefix" >"$work/install.log"
  export PATH=$work/prefix/bin:$PATH
fi
cd "$work"

# As many ranks as processors (but two at least, and no more than eight), so that waiting is not the machine's fault.
ranks=$(nproc)
((ranks < 2)) && ranks=2
((ranks > 8)) && ranks=8
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launcher=(mpirun.openmpi --oversubscribe -n "$ranks")

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
# Shows a command as the user would type it, then runs it.
show() {
  printf '%s$ %s%s\n' "$bold" "${*//"$work/"/}" "$plain"
  "$@"
}

say "1. A stencil of ours whose last ranks work longer (tests/apps/stencil.cpp)"
mpicxx.openmpi -std=c++20 -O2 -g "$here/stencil.cpp" -o stencil
show "${launcher[@]}" hpcrun-lite -o stencil.run ./stencil 120
show mpirun.openmpi -n 2 prof-mpi stencil.run
show viewer-cli stencil.run.db report
echo
show viewer-cli stencil.run.db view calling-context --depth 12 --min 2

say "2. LAMMPS as Debian ships it, stripped and optimized: a melt whose atoms are not spread evenly"
show "${launcher[@]}" hpcrun-lite -o melt.run lmp -in "$here/melt.in" -log none -screen none
show mpirun.openmpi -n 2 prof-mpi melt.run
show viewer-cli melt.run.db report

say "Everything is in ${work/#"$PWD/"/}; look around with: ${1:+PATH=$work/prefix/bin:\$PATH }viewer-cli $work/melt.run.db view flat"
