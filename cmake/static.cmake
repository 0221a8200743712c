# Programs start in about a millisecond less if the loader has nothing to do, so everything but glibc
# is linked statically. Debian has an archive of LMDB; of fmt it has only the headers and a shared
# library, so its one source file is compiled here, from the header that it consists of.
find_library(SLUICE_LMDB_ARCHIVE liblmdb.a REQUIRED)
add_library(sluice_lmdb STATIC IMPORTED GLOBAL)
set_target_properties(sluice_lmdb PROPERTIES IMPORTED_LOCATION ${SLUICE_LMDB_ARCHIVE}
                                             INTERFACE_INCLUDE_DIRECTORIES "${LMDB_INCLUDE_DIRS}")
target_link_libraries(sluice_lmdb INTERFACE Threads::Threads)

add_library(sluice_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cc)
target_compile_features(sluice_fmt PUBLIC cxx_std_20)

# sluice_program(NAME sources... LINKS targets...): an executable for users.
function(sluice_program name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
  target_compile_definitions(${name} PRIVATE SLUICE_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PRIVATE ${PROGRAM_LINKS})
  # A fixed address saves the loader thousands of relocations: a tenth of a short command.
  if(NOT SLUICE_SANITIZE)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc -no-pie)
  endif()
endfunction()
