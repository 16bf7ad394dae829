#compdef viewer-cli
# Completion of viewer-cli for zsh: the tool itself knows what fits.
local -a found
found=("${(@f)$("${words[1]}" --complete "${(@Q)words[2,CURRENT-1]}" "${(Q)words[CURRENT]}" 2>/dev/null)}")
if [[ ${found[1]} == :files ]]; then
  _files
elif [[ ${found[1]} == :databases ]]; then
  _files -g '*.db'
  if ((${#found} > 1)); then compadd -- "${found[@]:1}"; fi
elif [[ -n ${found[1]} ]]; then
  compadd -- "${found[@]}"
fi
