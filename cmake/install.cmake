# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)
get_property(heft_libraries GLOBAL PROPERTY HEFT_LIBRARIES)
install(TARGETS ${heft_libraries} EXPORT heftTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/heft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The public headers include these; programs include <heft/...> only.
install(DIRECTORY base ring ckks seal fusion gallery inverse_sqrt features evaluation learning
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heft/internal
        FILES_MATCHING PATTERN "*.h" PATTERN "testing.h" EXCLUDE PATTERN "*-inl.h" EXCLUDE)
install(EXPORT heftTargets NAMESPACE heft:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heft)
configure_package_config_file(cmake/heftConfig.cmake.in heftConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heft)
write_basic_package_version_file(heftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heftConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/heftConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heft)
