# Completion of viewer-cli for bash: the tool itself knows what fits.
_viewer_cli() {
  local -a words
  local line=${COMP_LINE:0:COMP_POINT} current='' strip
  # COMP_WORDS is cut at the colons of metrics; the line is not.
  read -ra words <<<"$line"
  if [[ $line == *[[:space:]] ]]; then words+=(''); fi
  current=${words[-1]}
  mapfile -t COMPREPLY < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
  if [[ ${COMPREPLY[0]:-} == :files ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
    return
  fi
  # bash replaces only what follows the last of these signs.
  strip=${current%"${current##*[:=]}"}
  if [[ -n $strip ]]; then COMPREPLY=("${COMPREPLY[@]#"$strip"}"); fi
}
complete -F _viewer_cli viewer-cli
