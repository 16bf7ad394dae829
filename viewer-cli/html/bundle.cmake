# cmake -DESBUILD= -DD3_MODULES= -DSOURCES= -DTEMPLATE= -P bundle.cmake: makes one script of the page's modules and D3,
# puts it and the styles into index.html, with the hashes that its policy allows, and writes that as a C++ string.

get_filename_component(folder ${TEMPLATE} DIRECTORY)

# Makes one file of what `source` imports: minified, and without any `</` that could end the element around it.
function(bundle source result)
  set(made ${folder}/bundled_${source})
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${D3_MODULES} ${ESBUILD} ${SOURCES}/${source} --bundle --minify --format=iife
            --target=es2020 --log-level=warning --legal-comments=none --outfile=${made}
    COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${made} text)
  string(STRIP "${text}" text)
  string(FIND "${text}" "</" ends)
  string(FIND "${text}" ")page\"" delimiter)
  if(NOT ends EQUAL -1 OR NOT delimiter EQUAL -1)
    message(FATAL_ERROR "${source}: holds </ or the end of a C++ string (write it otherwise)")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# The hash of a text as policies write it: sha256 in base64.
function(policy_hash text result)
  set(letters ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(SHA256 hex "${text}")
  set(hex "${hex}0000") # 32 bytes are ten groups of three and two more
  set(base64 "")
  foreach(at RANGE 0 65 6)
    string(SUBSTRING ${hex} ${at} 6 group)
    math(EXPR bits "0x${group}")
    foreach(shift 18 12 6 0)
      math(EXPR letter "(${bits} >> ${shift}) & 63")
      string(SUBSTRING ${letters} ${letter} 1 letter)
      string(APPEND base64 ${letter})
    endforeach()
  endforeach()
  string(SUBSTRING ${base64} 0 43 base64)
  set(${result} "sha256-${base64}=" PARENT_SCOPE)
endfunction()

bundle(main.js script)
bundle(page.css style)
policy_hash("${script}" script_hash)
policy_hash("${style}" style_hash)
file(READ ${SOURCES}/index.html page)
string(REPLACE "@SCRIPT_HASH@" "${script_hash}" page "${page}")
string(REPLACE "@STYLE_HASH@" "${style_hash}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
file(WRITE ${TEMPLATE} "// Made by viewer-cli/html/bundle.cmake.
#include \"commands/html/page.hpp\"

std::string_view culprit::viewer::page_template() {
  static constexpr std::string_view kPage = R\"page(${page})page\";
  return kPage;
}
")
