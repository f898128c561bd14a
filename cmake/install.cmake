# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: two libraries, their public headers, CMake's and pkg-config's
# descriptions of them. No internal header.
include(CMakePackageConfigHelpers)
install(TARGETS libheft libheft_static libheft_server libheft_server_static EXPORT heftTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/heft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT heftTargets NAMESPACE heft:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heft)
configure_package_config_file(cmake/heftConfig.cmake.in heftConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heft)
write_basic_package_version_file(heftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heftConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/heftConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heft)
# Relative, so that an installation can be moved.
file(RELATIVE_PATH HEFT_PREFIX_FROM_PKGCONFIG
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(library heft heft_server)
  configure_file(cmake/${library}.pc.in ${library}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${library}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
# The services' units and users.
install(FILES packaging/systemd/heft-decider.service packaging/systemd/heft-decider.socket
              packaging/systemd/heft-matcher.service packaging/systemd/heft-matcher.socket
        DESTINATION lib/systemd/system)
install(FILES packaging/systemd/heft.sysusers DESTINATION lib/sysusers.d RENAME heft.conf)
