# Configures, builds and runs a consumer project, with the macros off and on. Variables: see CMakeLists.txt beside this file.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
set(where -D "DTDEBUG_SOURCE_DIR=${SOURCE}")
if(KIND STREQUAL "installed")
  # A build of its own without programs: the outer build need not be complete for this.
  run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${SOURCE}" -B "${WORK}/library" -D CMAKE_CXX_COMPILER=${COMPILER}
      -D DTDEBUG_BUILD_TESTS=OFF -D DTDEBUG_BUILD_EXAMPLES=OFF -D DTDEBUG_BUILD_BENCH=OFF
      -D CMAKE_INSTALL_PREFIX=${WORK}/prefix)
  run("${CMAKE_COMMAND}" --install "${WORK}/library")
  set(where -D "CMAKE_PREFIX_PATH=${WORK}/prefix" -D "EXPECTED_VERSION=${VERSION}")
endif()
foreach(on OFF ON)
  run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${SOURCE}/tests/consumer/${KIND}" -B "${WORK}/${on}" -D CMAKE_CXX_COMPILER=${COMPILER}
      -D WITH_DTDEBUG=${on} ${where})
  run("${CMAKE_COMMAND}" --build "${WORK}/${on}")
  run("${CMAKE_COMMAND}" -E env "DTDEBUG_DIR=${WORK}/${on}/run" "DTDEBUG_LOG=quiet" "${WORK}/${on}/app")
endforeach()
