# How much of a target is compiled at once. Most of what a compiler reads is headers, so a unit of
# several sources takes a third of their time together, and a header that was compiled before takes
# none. Every path that ends up in a unit or an option is relative, so that all clones of the
# sources on a machine share one compiler cache; CMake's own means (UNITY_BUILD, and precompiled
# headers of clang) write absolute ones.

# sluice_sources(TARGET SOURCES...): adds the sources of a room or a program. With SLUICE_UNITY at
# most twelve of them are one unit; those in another folder than the list are compiled by themselves.
function(sluice_sources target)
  set(sources ${ARGN})
  if(SLUICE_UNITY)
    set(alone ${ARGN})
    list(FILTER alone INCLUDE REGEX "^/")
    list(FILTER sources EXCLUDE REGEX "^/")
    list(LENGTH sources count)
    math(EXPR units "(${count} + 11) / 12")
    set(number 0)
    while(number LESS units)
      math(EXPR from "${count} * ${number} / ${units}")
      math(EXPR length "${count} * (${number} + 1) / ${units} - ${from}")
      list(SUBLIST sources ${from} ${length} part)
      sluice_unit(${target}_${number} ${part})
      list(APPEND alone ${CMAKE_CURRENT_BINARY_DIR}/${target}_${number}.cc)
      math(EXPR number "${number} + 1")
    endwhile()
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    set(sources ${alone})
  endif()
  target_sources(${target} PRIVATE ${sources})
endfunction()

function(sluice_unit name)
  set(text "")
  foreach(source IN LISTS ARGN)
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}
               OUTPUT_VARIABLE folder)
    string(APPEND text "#include \"${folder}/${source}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${name}.cc CONTENT "${text}" @ONLY)
endfunction()

# sluice_test_headers(TARGET): what nearly every test reads is compiled once for all of them, with the
# options of tests. Not under ThreadSanitizer: in that build a file that forgot an include is found.
function(sluice_test_headers target)
  if(SLUICE_SANITIZE MATCHES thread)
    return()
  endif()
  set(header ${PROJECT_SOURCE_DIR}/tests/support/test_headers.h)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    if(target STREQUAL "base_test")
      target_precompile_headers(${target} PRIVATE ${header})
    else()
      target_precompile_headers(${target} REUSE_FROM base_test)
    endif()
    return()
  endif()
  if(target STREQUAL "base_test")  # The first. The object of a header is the header, precompiled.
    add_library(sluice_test_headers OBJECT ${header})
    set_source_files_properties(${header} PROPERTIES LANGUAGE CXX)
    target_link_libraries(sluice_test_headers PRIVATE sluice_options GTest::gtest)
    target_compile_options(sluice_test_headers PRIVATE
      -O0 -fPIE -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp" -x c++-header)
  endif()
  set(compiled src/base/CMakeFiles/sluice_test_headers.dir/__/__/tests/support/test_headers.h.o)
  target_compile_options(${target} PRIVATE "SHELL:-include-pch ${compiled}")
  get_target_property(sources ${target} SOURCES)
  set_source_files_properties(${sources} PROPERTIES OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/${compiled})
endfunction()
