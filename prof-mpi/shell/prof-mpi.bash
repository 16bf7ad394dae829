# Completion of prof-mpi for bash.
_prof_mpi() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  case $before in
    --balance)
      mapfile -t COMPREPLY < <(compgen -W 'noise-aware paper' -- "$current")
      return
      ;;
    --alpha | --tau | --epsilon | --hotspot-threshold | -j | --threads | -R | --replace-prefix | --segment) return ;;
    --structure-cache)
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      compopt -o filenames 2>/dev/null
      return
      ;;
    -o | --output | --idle-rules)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      compopt -o filenames 2>/dev/null
      return
      ;;
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '--help -o --output --force -R --replace-prefix --dry-run --segment --idle-rules --balance --alpha
      --tau --epsilon --hotspot-threshold --no-loops --no-source --structure-cache --no-structure-cache -j --threads -q --quiet -v --verbose --version' -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _prof_mpi prof-mpi
