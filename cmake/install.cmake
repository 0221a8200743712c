# What `cmake --install` gives to other programs: the public headers, and every room of the library
# in one archive, for find_package(Sluice) and for pkg-config. docs/guide/embedding.md shows both.
# The archive takes the rooms' objects and none of their options: warnings, the linker and the
# include path src/ stay here.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

add_library(sluice STATIC)
add_library(Sluice::sluice ALIAS sluice)
set_target_properties(sluice PROPERTIES LINKER_LANGUAGE CXX)
target_compile_features(sluice PUBLIC cxx_std_20)
target_include_directories(sluice PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                         $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
foreach(room base codec kv queue runtime net client)
  target_sources(sluice PRIVATE $<TARGET_OBJECTS:sluice_${room}>)
endforeach()
# SluiceConfig.cmake.in and sluice.pc.in name the same ones.
find_package(OpenSSL REQUIRED)
target_link_libraries(sluice PUBLIC tl::expected Threads::Threads
                             PRIVATE PkgConfig::LMDB fmt::fmt OpenSSL::SSL OpenSSL::Crypto)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Sluice)
configure_package_config_file(cmake/SluiceConfig.cmake.in SluiceConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(SluiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# The prefix is known to `cmake --install` only, so sluice.pc finds it from where it lies.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/sluice.pc.in sluice.pc @ONLY)

install(DIRECTORY include/sluice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(TARGETS sluice EXPORT SluiceTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT SluiceTargets NAMESPACE Sluice:: DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/SluiceConfig.cmake
              ${PROJECT_BINARY_DIR}/SluiceConfigVersion.cmake
        DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/sluice.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
