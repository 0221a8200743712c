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
if(SLUICE_MUTANTS)
  target_compile_definitions(sluice_options INTERFACE SLUICE_MUTANTS)
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

find_program(SLUICE_MOLD mold)
if(SLUICE_MOLD)
  target_link_options(sluice_options INTERFACE -fuse-ld=mold)
endif()

# sluice_room(NAME SOURCES... LINKS targets...): the library sluice_NAME.
function(sluice_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(sluice_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(sluice_${name} PUBLIC sluice_options ${ROOM_LINKS}
                                       PRIVATE ${ROOM_PRIVATE_LINKS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(sluice_${name} PRIVATE -Wsign-conversion)
  endif()
  if(SLUICE_FUZZ)  # Fuzzers are led by what runs in the rooms; nobody asks it of their tests.
    target_compile_options(sluice_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# What nearly every test reads is compiled once, with the first of them. Only by g++: in the other
# builds a file that forgot an include is found.
function(sluice_test_headers name)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  if(name STREQUAL "base_test")
    target_precompile_headers(${name} PRIVATE
      <gtest/gtest.h> <tl/expected.hpp> <algorithm> <atomic> <chrono> <functional> <map> <memory>
      <mutex> <optional> <stop_token> <string> <unordered_map> <utility> <vector>)
  else()
    target_precompile_headers(${name} REUSE_FROM base_test)
  endif()
endfunction()

# sluice_test(NAME SOURCES... LINKS targets... [SERIAL] [TIMEOUT s]): a gtest program whose cases
# become ctest entries "NAME.Suite.case". SERIAL: runs alone, because it measures or saturates.
# The tests under src/ and apps/ that may run together carry the label "fast" (./test --fast). Their
# code runs once and is compiled in every build, so it is compiled without optimisation; with all
# sanitizers of the build, because templates of the public headers are compiled nowhere else.
function(sluice_test name)
  if(NOT SLUICE_TESTS)
    return()
  endif()
  cmake_parse_arguments(TEST "SERIAL" "TIMEOUT" "SOURCES;LINKS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} sluice_test_support rapidcheck GTest::gtest
                                        GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  set(properties TIMEOUT ${TEST_TIMEOUT})
  if(TEST_SERIAL)
    list(APPEND properties RUN_SERIAL TRUE)
  endif()
  string(FIND "${CMAKE_CURRENT_SOURCE_DIR}/" "${PROJECT_SOURCE_DIR}/src/" in_a_room)
  string(FIND "${CMAKE_CURRENT_SOURCE_DIR}/" "${PROJECT_SOURCE_DIR}/apps/" in_an_app)
  if((in_a_room EQUAL 0 OR in_an_app EQUAL 0) AND NOT TEST_SERIAL)
    list(APPEND properties LABELS fast)
    target_compile_options(${name} PRIVATE -O0)
    sluice_test_headers(${name})
  endif()
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST
                       PROPERTIES ${properties})
  # Read by ctest after the cases are known: ./test --long means time limits of hours.
  set(limits ${CMAKE_CURRENT_BINARY_DIR}/${name}_limits.cmake)
  file(WRITE ${limits} "if(DEFINED ENV{SLUICE_LONG} AND ${name}_TESTS)
  set_tests_properties(\${${name}_TESTS} PROPERTIES TIMEOUT 21600)
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${limits})
endfunction()
