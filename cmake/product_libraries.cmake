# SPDX-License-Identifier: Apache-2.0
# The libraries that are installed, each shared and static, made of the rooms' objects:
#
#   heft::server, heft::server_static  client and server: what links it cannot decrypt
#   heft::heft, heft::heft_static      those, the key owner, SEAL's secret keys, learning, and what
#                                      measures models and time
#
# A program links one of them. Shared ones show what include/heft/ declares with HEFT_EXPORT alone.
set(HEFT_SERVER_ROOMS base ring ckks seal inverse_sqrt fusion store gallery matcher desk exchange)
set(HEFT_ALL_ROOMS ${HEFT_SERVER_ROOMS} ckks_secret seal_secret owner exchange_key_owner features
    evaluation learning protocol roles experiment bench)
set(HEFT_PUBLIC_PACKAGES absl::status absl::statusor absl::strings)
set(HEFT_PRIVATE_PACKAGES absl::flat_hash_map absl::str_format absl::time Threads::Threads
    PkgConfig::HWY PkgConfig::SODIUM PkgConfig::ZSTD PkgConfig::B2 PkgConfig::SQLITE
    PkgConfig::UTF8PROC ZLIB::ZLIB OpenSSL::Crypto)

# heft_product_library(FILE_NAME EXPORT_NAME ROOM...)
function(heft_product_library file_name export_name)
  set(objects)
  foreach(room ${ARGN})
    list(APPEND objects $<TARGET_OBJECTS:heft_${room}>)
  endforeach()
  set(shared lib${file_name})
  set(static lib${file_name}_static)
  add_library(${shared} SHARED ${objects})
  # Before 1.0 a minor version may change the interface: docs/abi.md.
  set_target_properties(${shared} PROPERTIES VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} EXPORT_NAME ${export_name})
  target_link_options(${shared} PRIVATE -Wl,--no-undefined)
  add_library(${static} STATIC ${objects})
  set_target_properties(${static} PROPERTIES EXPORT_NAME ${export_name}_static)
  foreach(library ${shared} ${static})
    set_target_properties(${library} PROPERTIES OUTPUT_NAME ${file_name} LINKER_LANGUAGE CXX)
    target_compile_features(${library} INTERFACE cxx_std_20)
    target_include_directories(${library} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${library} PUBLIC ${HEFT_PUBLIC_PACKAGES} PRIVATE ${HEFT_PRIVATE_PACKAGES})
  endforeach()
endfunction()

heft_product_library(heft_server server ${HEFT_SERVER_ROOMS})
heft_product_library(heft heft ${HEFT_ALL_ROOMS})
