# Completion of viewer-cli for bash: the tool itself knows what fits.
_viewer_cli() {
  local -a words
  local line=${COMP_LINE:0:COMP_POINT} current='' strip at
  # COMP_WORDS is cut at the colons of metrics; the line is not.
  read -ra words <<<"$line"
  if [[ $line == *[[:space:]] ]]; then words+=(''); fi
  current=${words[-1]}
  mapfile -t COMPREPLY < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
  if [[ ${COMPREPLY[0]:-} == :* ]]; then
    local -a further=("${COMPREPLY[@]:1}") filter=()
    if [[ ${COMPREPLY[0]} == :databases ]]; then filter=(-X '!*.db'); fi
    mapfile -t COMPREPLY < <({ compgen -f "${filter[@]}" -- "$current"; compgen -d -- "$current"; } | sort -u)
    COMPREPLY+=("${further[@]}")
    compopt -o filenames 2>/dev/null
    return
  fi
  # bash replaces only what follows the last of these signs.
  strip=${current%"${current##*[:=]}"}
  if [[ -n $strip ]]; then COMPREPLY=("${COMPREPLY[@]#"$strip"}"); fi
  # bash inserts candidates as they are; the names of metrics are the database's.
  for at in "${!COMPREPLY[@]}"; do
    if [[ ${COMPREPLY[at]} == *[!A-Za-z0-9_.,:=+%/@-]* ]]; then printf -v "COMPREPLY[$at]" %q "${COMPREPLY[at]}"; fi
  done
}
complete -F _viewer_cli viewer-cli
