# Completion of hpcrun-lite for bash: its own options, then the program's command line as if it stood alone.
_hpcrun_lite() {
  local current=${COMP_WORDS[COMP_CWORD]} word=1
  while ((word < COMP_CWORD)); do
    case ${COMP_WORDS[word]} in
      -e | --event | -o | --output | --ranks | --trace-limit | --trace-threads-above) ((word += 2)) ;;
      --) ((word += 1)) && break ;;
      -*) ((word += 1)) ;;
      *) break ;;
    esac
  done
  if ((word < COMP_CWORD)); then
    if declare -F _command_offset >/dev/null; then
      _command_offset "$word"
    else
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      compopt -o filenames 2>/dev/null
    fi
    return
  fi
  case ${COMP_WORDS[COMP_CWORD - 1]} in
    -e | --event)
      mapfile -t COMPREPLY < <(compgen -W 'REALTIME CPUTIME perf:: none' -- "$current")
      if [[ ${COMPREPLY[0]:-} == perf:: ]]; then compopt -o nospace 2>/dev/null; fi
      return
      ;;
    -o | --output)
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      compopt -o filenames 2>/dev/null
      return
      ;;
    --ranks | --trace-limit | --trace-threads-above) return ;;
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '--help --version -e --event -o --output --ranks -t --trace --trace-limit
      --trace-threads-above --files --delay --list-events -q --quiet -v --verbose --' -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -c -- "$current"; compgen -f -- "$current")
    compopt -o filenames 2>/dev/null # quotes what a shell would take for more than a name
  fi
}
complete -F _hpcrun_lite hpcrun-lite
