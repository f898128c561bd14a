# SPDX-License-Identifier: Apache-2.0
# The files of `cmake --install`: the C++ and C libraries, their public headers, and their
# descriptions for CMake and pkg-config. No internal header. Components, for packages: libraries,
# development, tools, matcher, decider.
include(CMakePackageConfigHelpers)
set(libraries heft heft_server)
if(HEFT_BUILD_C)
  set(libraries_in_c libheft_c libheft_c_server)
  list(APPEND libraries heft_c heft_c_server)
  install(FILES include/heft.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
endif()
install(TARGETS libheft libheft_static libheft_server libheft_server_static ${libraries_in_c}
        EXPORT heftTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libraries
                NAMELINK_COMPONENT development)
install(DIRECTORY include/heft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT heftTargets NAMESPACE heft:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heft
        COMPONENT development)
configure_package_config_file(cmake/heftConfig.cmake.in heftConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heft)
write_basic_package_version_file(heftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heftConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/heftConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heft COMPONENT development)
# Relative, so that an installation can be moved.
file(RELATIVE_PATH HEFT_PREFIX_FROM_PKGCONFIG
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(library ${libraries})
  configure_file(cmake/${library}.pc.in ${library}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${library}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()
# The services' units and users, each its own: the two belong on different machines.
foreach(service matcher decider)
  install(FILES packaging/systemd/heft-${service}.service packaging/systemd/heft-${service}.socket
          DESTINATION lib/systemd/system COMPONENT ${service})
  install(FILES packaging/systemd/heft-${service}.sysusers DESTINATION lib/sysusers.d
          RENAME heft-${service}.conf COMPONENT ${service})
endforeach()
