# Programs start in half the time if there is nothing to load, so they are linked statically. Debian
# has archives of LMDB and xxHash; of fmt it has only the headers and a shared library, so its one source file
# is compiled here, from the header that it consists of.
find_library(SLUICE_LMDB_ARCHIVE liblmdb.a REQUIRED)
add_library(sluice_lmdb STATIC IMPORTED GLOBAL)
set_target_properties(sluice_lmdb PROPERTIES IMPORTED_LOCATION ${SLUICE_LMDB_ARCHIVE}
                                             INTERFACE_INCLUDE_DIRECTORIES "${LMDB_INCLUDE_DIRS}")
target_link_libraries(sluice_lmdb INTERFACE Threads::Threads)

# Named by its file: a program that is linked statically with the shared one starts, and ends at the
# first call.
find_library(SLUICE_XXHASH_ARCHIVE libxxhash.a REQUIRED)
add_library(sluice_xxhash STATIC IMPORTED GLOBAL)
set_target_properties(sluice_xxhash PROPERTIES IMPORTED_LOCATION ${SLUICE_XXHASH_ARCHIVE})

# For a program whose threads give each other memory all the time: see its CMakeLists.txt.
find_library(SLUICE_JEMALLOC_ARCHIVE libjemalloc.a REQUIRED)
add_library(sluice_jemalloc STATIC IMPORTED GLOBAL)
set_target_properties(sluice_jemalloc PROPERTIES IMPORTED_LOCATION ${SLUICE_JEMALLOC_ARCHIVE})
target_link_libraries(sluice_jemalloc INTERFACE Threads::Threads)

add_library(sluice_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cc)
target_compile_features(sluice_fmt PUBLIC cxx_std_20)

# sluice_program(NAME SOURCES files... LINKS targets...): an executable for users. Its objects are
# also a library, NAME_objects, for tests that need the program otherwise linked.
function(sluice_program name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;LINKS" ${ARGN})
  add_library(${name}_objects OBJECT)
  sluice_sources(${name}_objects ${PROGRAM_SOURCES})
  target_compile_definitions(${name}_objects PRIVATE SLUICE_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name}_objects PUBLIC ${PROGRAM_LINKS})
  add_executable(${name})
  target_link_libraries(${name} PRIVATE ${name}_objects)
  # A fixed address saves thousands of relocations at every start.
  if(NOT SLUICE_SANITIZE)
    target_link_options(${name} PRIVATE -static -no-pie)
  endif()
endfunction()
