# What finds an installation, wherever that is moved to: culprit.h for CMake and pkg-config, all of it for environment modules.
include(CMakePackageConfigHelpers)
set(pkgconfig ${PROJECT_BINARY_DIR}/culprit.pc)
set(config ${PROJECT_BINARY_DIR}/CulpritConfig.cmake)
configure_file(${CMAKE_CURRENT_LIST_DIR}/culprit.pc.in ${pkgconfig} @ONLY)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/CulpritConfig.cmake.in ${config}
                              INSTALL_DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/Culprit
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/CulpritConfigVersion.cmake COMPATIBILITY SameMajorVersion
                                 ARCH_INDEPENDENT)
install(FILES ${config} ${PROJECT_BINARY_DIR}/CulpritConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_DATADIR}/cmake/Culprit)
install(FILES ${pkgconfig} DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
# For `module use PREFIX/share/modulefiles && module load culprit`.
configure_file(${CMAKE_CURRENT_LIST_DIR}/modulefile.in ${PROJECT_BINARY_DIR}/modulefile @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/modulefile DESTINATION ${CMAKE_INSTALL_DATADIR}/modulefiles/culprit
        RENAME ${PROJECT_VERSION})
