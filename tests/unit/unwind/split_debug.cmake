# Moves the debug information of an executable, the last argument, into a file of its own beside it.
math(EXPR last "${CMAKE_ARGC} - 1")
set(program "${CMAKE_ARGV${last}}")
execute_process(COMMAND ${OBJCOPY} --only-keep-debug ${program} ${program}.debug COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJCOPY} --strip-all --add-gnu-debuglink=${program}.debug ${program}
  COMMAND_ERROR_IS_FATAL ANY)
