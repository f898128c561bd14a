# SPDX-License-Identifier: Apache-2.0
# The libraries that are installed, each static and shared, made of the rooms' objects:
#
#   heft_server  client and server: what links it cannot decrypt
#   heft         those, the key owner, SEAL's secret keys, learning and evaluation
#
# A program links one of them. Only what include/heft/ declares with HEFT_EXPORT is visible.
set(HEFT_SERVER_ROOMS base ring ckks seal inverse_sqrt fusion gallery)
set(HEFT_ALL_ROOMS ${HEFT_SERVER_ROOMS} ckks_secret seal_secret key_owner features evaluation learning)
set(HEFT_PUBLIC_PACKAGES absl::status absl::statusor absl::strings)
set(HEFT_SERVER_PACKAGES absl::str_format Threads::Threads PkgConfig::HWY PkgConfig::SODIUM
    PkgConfig::ZSTD PkgConfig::B2 ZLIB::ZLIB OpenSSL::Crypto)

# heft_product_library(NAME ROOM...): NAME and NAME_static.
function(heft_product_library name)
  set(objects)
  foreach(room ${ARGN})
    list(APPEND objects $<TARGET_OBJECTS:heft_${room}>)
  endforeach()
  add_library(${name} SHARED ${objects})
  # Before 1.0 a minor version may change the interface: docs/abi.md.
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  add_library(${name}_static STATIC ${objects})
  set_target_properties(${name}_static PROPERTIES OUTPUT_NAME ${name})
  foreach(library ${name} ${name}_static)
    set_target_properties(${library} PROPERTIES LINKER_LANGUAGE CXX)
    target_compile_features(${library} INTERFACE cxx_std_20)
    target_include_directories(${library} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${library} PUBLIC ${HEFT_PUBLIC_PACKAGES} PRIVATE ${HEFT_SERVER_PACKAGES})
  endforeach()
  target_link_options(${name} PRIVATE -Wl,--no-undefined)
endfunction()

heft_product_library(heft_server ${HEFT_SERVER_ROOMS})
heft_product_library(heft ${HEFT_ALL_ROOMS})
set_target_properties(heft_server PROPERTIES EXPORT_NAME server)
set_target_properties(heft_server_static PROPERTIES EXPORT_NAME server_static)
