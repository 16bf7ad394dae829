# Completion of viewer-cli for fish: the tool itself knows what fits.
function __viewer_cli_complete
    set -l words (commandline -opc)
    set -l found ($words[1] --complete $words[2..-1] (commandline -ct) 2>/dev/null)
    if test "$found[1]" = :files
        __fish_complete_path (commandline -ct)
    else if test "$found[1]" = :databases
        __fish_complete_path (commandline -ct) | string match -r -- '^[^\t]*(?:/|\.db)(?:\t.*)?$'
        printf '%s\n' $found[2..-1]
    else
        printf '%s\n' $found
    end
end
complete -c viewer-cli -f -a '(__viewer_cli_complete)'
