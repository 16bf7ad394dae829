#!/bin/bash
# In a root without build tools: installs the packages beside this file and uses them under Open MPI. Exit status 0 if all works.
set -euo pipefail
cd /root
export DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
! command -v gcc cmake >/dev/null || { echo "smoke: this root has build tools" >&2; exit 1; }
apt-get update -qq
apt-get install -y -qq --no-install-recommends ./culprit_*.deb ./culprit-openmpi_*.deb >install.log 2>&1 || { tail -20 install.log >&2; exit 1; }
mpirun --oversubscribe -n 2 hpcrun-lite -q -o run lmp -in melt.in -log none >lammps.log
mpirun --oversubscribe -n 2 prof-mpi -q run
report=$(viewer-cli run.db report)
grep -q "LAMMPS_NS::" <<<"$report" || { echo "smoke: the report names no code of LAMMPS: $report" >&2; exit 1; }
viewer-cli run.db export html -o run.html
test -s run.html && test -s /usr/share/man/man1/viewer-cli.1.gz

# The other MPI beside it: the same run, merged on its ranks, gives the same report. MPICH of Ubuntu 24.04 is built for launchers that
# speak PMIx, which its own mpiexec does not.
merge=(mpiexec.mpich -n 2 prof-mpi)
! grep -q noble /etc/os-release || merge=(mpirun.openmpi --oversubscribe -n 2 /usr/lib/culprit/prof-mpi-mpich)
apt-get install -y -qq --no-install-recommends mpich ./culprit-mpich_*.deb >>install.log 2>&1 || { tail -20 install.log >&2; exit 1; }
"${merge[@]}" -q run -o again.db
[ "$(viewer-cli again.db report)" = "$report" ] || { echo "smoke: under MPICH the merged run differs" >&2; exit 1; }
