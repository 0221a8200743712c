# How a room, a test and a program are declared. Each room is one library with explicit links, so
# that a look in a forbidden direction does not link (tools/tidy also reads the includes).

add_library(sluice_options INTERFACE)
target_compile_features(sluice_options INTERFACE cxx_std_20)
target_include_directories(sluice_options INTERFACE ${PROJECT_SOURCE_DIR}/include
                                                    ${PROJECT_SOURCE_DIR}/src)
target_compile_options(sluice_options INTERFACE -Wall -Wextra -Wconversion -Wshadow)
target_link_libraries(sluice_options INTERFACE tl::expected Threads::Threads)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Its -Wconversion is stricter than g++'s, and its eyes see into the standard library.
  target_compile_options(sluice_options INTERFACE -Wthread-safety -Wno-sign-conversion
                                                  -Wno-deprecated-declarations)
endif()
if(SLUICE_WERROR)
  target_compile_options(sluice_options INTERFACE -Werror)
endif()
if(SLUICE_SANITIZE)
  target_compile_options(sluice_options INTERFACE -fsanitize=${SLUICE_SANITIZE}
                                                  -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all)
  target_link_options(sluice_options INTERFACE -fsanitize=${SLUICE_SANITIZE})
  if(SLUICE_SANITIZE MATCHES undefined)  # It opens files, which a test may have run out of.
    target_compile_options(sluice_options INTERFACE -fno-sanitize=vptr)
  endif()
endif()

include(cmake/units.cmake)

find_program(SLUICE_MOLD mold)
if(SLUICE_MOLD)
  target_link_options(sluice_options INTERFACE -fuse-ld=mold)
endif()

# sluice_room(NAME SOURCES... LINKS targets...): the library sluice_NAME.
function(sluice_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(sluice_${name} STATIC)
  sluice_sources(sluice_${name} ${ROOM_SOURCES})
  target_link_libraries(sluice_${name} PUBLIC sluice_options ${ROOM_LINKS}
                                       PRIVATE ${ROOM_PRIVATE_LINKS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(sluice_${name} PRIVATE -Wsign-conversion)
  endif()
  if(SLUICE_FUZZ)  # Fuzzers are led by what runs in the rooms; nobody asks it of their tests.
    target_compile_options(sluice_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# sluice_test(NAME [SOURCES...] [THREADED...] [HELPERS...] LINKS targets... [STARTS targets...]
# [LABELS...] [COST s]): two gtest programs, NAME of the SOURCES and NAME_threads of the THREADED
# sources, both with the HELPERS, which have no cases. Their cases become ctest entries
# "NAME.Suite.case". STARTS: what they start or preload, which they find beside themselves.
#
# A case that starts a thread belongs to THREADED: only those are built for ThreadSanitizer, which has
# nothing to find in the others. In the release build a case of the SOURCES that starts one fails.
#
# Labels: "threads" is given to the THREADED; "chance" is for what is killed or drawn at random;
# "timed" for what holds something to the clock: it runs alone. COST is how many seconds the slowest
# case takes: where no earlier run has told, those begin first. How long a test may take at most is
# said once, in tools/run_ctest.py.
function(sluice_test name)
  if(NOT SLUICE_TESTS)
    return()
  endif()
  cmake_parse_arguments(TEST "" "COST" "SOURCES;THREADED;HELPERS;LINKS;STARTS;LABELS" ${ARGN})
  set(rest HELPERS ${TEST_HELPERS} LINKS ${TEST_LINKS} STARTS ${TEST_STARTS} COST ${TEST_COST}
           LABELS ${TEST_LABELS})
  if(TEST_SOURCES AND NOT SLUICE_SANITIZE MATCHES thread)
    sluice_test_program(${name} SOURCES ${TEST_SOURCES} ${rest})
    if(NOT SLUICE_SANITIZE)
      target_link_libraries(${name} PRIVATE sluice_one_thread)
    endif()
  endif()
  if(TEST_THREADED)
    sluice_test_program(${name}_threads SOURCES ${TEST_THREADED} ${rest} threads)
  endif()
endfunction()

# One gtest program of sluice_test(). Those under src/ and apps/ carry the label "fast" (./test
# --fast). Their code runs once and is compiled in every build, so it is compiled without
# optimisation; with all sanitizers of the build, because templates of the public headers are compiled
# nowhere else.
function(sluice_test_program name)
  cmake_parse_arguments(TEST "" "COST" "SOURCES;HELPERS;LINKS;STARTS;LABELS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  if(TEST_HELPERS)
    sluice_sources(${name} ${TEST_HELPERS})
  endif()
  if(TEST_STARTS)
    add_dependencies(${name} ${TEST_STARTS})
  endif()
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} sluice_test_support rapidcheck GTest::gtest
                                        GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/(src|apps)/")
    if(NOT "timed" IN_LIST TEST_LABELS)
      list(APPEND TEST_LABELS fast)
    endif()
    target_compile_options(${name} PRIVATE -O0)
    sluice_test_headers(${name})
  endif()
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST)
  # Read by ctest, which knows the cases; gtest_discover_tests() takes no list of labels.
  set(properties "LABELS \"${TEST_LABELS}\" COST 0${TEST_COST}")
  if("timed" IN_LIST TEST_LABELS)
    string(APPEND properties " RUN_SERIAL TRUE")
  endif()
  set(known ${CMAKE_CURRENT_BINARY_DIR}/${name}_known.cmake)
  file(CONFIGURE OUTPUT ${known} @ONLY CONTENT "if(@name@_TESTS)
  set_tests_properties(\${@name@_TESTS} PROPERTIES @properties@)
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${known})
endfunction()

# sluice_script_test(NAME SCRIPT [ENVIRONMENT words...] [LABELS...] [COST s]): a Python programme of
# the current folder, one test to ctest. Labels as above, and "foreign" for programs that are not ours,
# browsers and clients of others: no sanitizer looks into those, so only the release build runs them.
function(sluice_script_test name script)
  cmake_parse_arguments(TEST "" "COST" "ENVIRONMENT;LABELS" ${ARGN})
  if("foreign" IN_LIST TEST_LABELS AND SLUICE_SANITIZE)
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/${script})
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" COST "0${TEST_COST}"
                       ENVIRONMENT "${TEST_ENVIRONMENT};PYTHONDONTWRITEBYTECODE=1")
  if("timed" IN_LIST TEST_LABELS)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()
