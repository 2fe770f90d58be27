# How dtdebug's own programs are compiled: warnings, sanitizers. Never reaches a user's target.

set(dtdebug_warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
set(dtdebug_sanitize_flags "")
if(DTDEBUG_SANITIZE)
  set(dtdebug_sanitize_flags -fsanitize=${DTDEBUG_SANITIZE} -fno-omit-frame-pointer)
  if(DTDEBUG_SANITIZE MATCHES "undefined")
    list(APPEND dtdebug_sanitize_flags -fno-sanitize-recover=undefined)
  endif()
  if(DTDEBUG_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Fences are not modelled; what they order is atomic all the same, so that no race is reported where there is none.
    list(APPEND dtdebug_sanitize_flags -Wno-tsan)
  endif()
endif()

# Applies the above to a target. Debug information is always there: reports name source lines.
function(dtdebug_own target)
  target_link_libraries(${target} PRIVATE dtdebug::dtdebug)
  target_compile_options(${target} PRIVATE -g ${dtdebug_warnings} ${dtdebug_sanitize_flags})
  target_link_options(${target} PRIVATE ${dtdebug_sanitize_flags})
endfunction()

# One executable with the macros on (OFF: without them).
#   dtdebug_program(NAME [OFF] SOURCES file… [LIBRARIES target…])
function(dtdebug_program name)
  cmake_parse_arguments(arg "OFF" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  if(NOT arg_OFF)
    target_compile_definitions(${name} PRIVATE DTDEBUG)
  endif()
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  dtdebug_own(${name})
endfunction()
