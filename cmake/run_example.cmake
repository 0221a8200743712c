# Runs PROGRAM with the empty directory DIR and compares what it prints with the file EXPECTED.
file(REMOVE_RECURSE ${DIR})
file(MAKE_DIRECTORY ${DIR})
execute_process(COMMAND ${PROGRAM} ${DIR} OUTPUT_VARIABLE printed RESULT_VARIABLE code)
file(REMOVE_RECURSE ${DIR})
file(READ ${EXPECTED} expected)
if(NOT code EQUAL 0 OR NOT printed STREQUAL expected)
  message(FATAL_ERROR "exit code ${code}; printed:\n${printed}\nexpected:\n${expected}")
endif()
