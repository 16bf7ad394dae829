#compdef prof-mpi
# Completion of prof-mpi for zsh.
_arguments \
  '(- *)'{-h,--help}'[print the options]' \
  '(- *)--version[print the version]' \
  '(-o --output)'{-o,--output}'[database to write]:database:_files' \
  '--force[replace a database that exists]' \
  '*'{-R,--replace-prefix}'[look for sources below NEW where the compiler said OLD]:OLD=NEW:' \
  '--dry-run[do everything but write]' \
  '*--segment[report how long each invocation of this procedure took]:procedure:' \
  '--idle-rules[further rules of what is idleness]:file:_files' \
  '--balance[balance test]:test:(noise-aware paper)' \
  '--alpha[imbalance of the root that is still balanced]:factor:' \
  '--tau[natural jitter, as a share of the mean]:share:' \
  '--epsilon[chance to call a balanced context imbalanced]:chance:' \
  '--hotspot-threshold[least share of the time of a hotspot]:share:' \
  '--no-loops[do not look for loops]' \
  '--no-source[do not copy sources]' \
  '(--no-structure-cache)--structure-cache[keep structure there for later runs]:directory:_files -/' \
  '(--structure-cache)--no-structure-cache[neither use nor keep structure of other runs]' \
  '(-j --threads)'{-j,--threads}'[ranks as threads, without a launcher]:number:' \
  '(-q --quiet)'{-q,--quiet}'[only errors and what is degraded]' \
  '(-v --verbose)'{-v,--verbose}'[report phases and all problems]' \
  '1:measurement directory:_files -/'
