#compdef hpcrun-lite
# Completion of hpcrun-lite for zsh: its own options, then the program's command line as if it stood alone.
_arguments \
  '(- *)'{-h,--help}'[print the options]' \
  '(- *)--version[print the version]' \
  '*'{-e,--event}'[what to sample]:event:(REALTIME CPUTIME perf\:\: none)' \
  '(-o --output)'{-o,--output}'[measurement directory]:directory:_files -/' \
  '--ranks[keep only these ranks]:list:' \
  '(-t --trace)'{-t,--trace}'[also record time lines]' \
  '--trace-limit[stop time lines at this size]:size:' \
  '--trace-threads-above[record waits for threads of this length or longer]:duration:' \
  '--files[name the files that are read and written]' \
  '--delay[sample nothing before culprit_start()]' \
  '(- *)--list-events[print the events that work here]' \
  '(-q --quiet)'{-q,--quiet}'[no summary line at the end]' \
  '(-v --verbose)'{-v,--verbose}'[say at the start what is measured and how]' \
  '(-)1:program:_command_names -e' \
  '*::arguments: _normal'
