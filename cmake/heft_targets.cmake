# SPDX-License-Identifier: Apache-2.0
# heft_library(NAME SOURCES ... [DEPENDS ...] [LIGHT]): a static library heft_NAME, alias heft::NAME.
#   LIGHT: heft_light.
# heft_test(NAME SOURCES ... [DEPENDS ...]): a GoogleTest program, whose main is base/testing_main.cc.
#   Of several sources, CTest knows each as a test of its own: NAME_test for NAME_test.cc.
include(GoogleTest OPTIONAL)

# GCC before 13 reports overlapping copies in std::string that are none (GCC bug 105651).
set(HEFT_WARNINGS -Wall -Wextra -Wshadow -Wno-sign-compare
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)

function(heft_library name)
  cmake_parse_arguments(ARG "LIGHT" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(heft_${name} STATIC ${ARG_SOURCES})
  add_library(heft::${name} ALIAS heft_${name})
  target_include_directories(heft_${name} PUBLIC
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(heft_${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  target_compile_options(heft_${name} PRIVATE ${HEFT_WARNINGS})
  # Most sources of a library that uses Eigen include it, and so do those of libraries above.
  get_property(eigen_libraries GLOBAL PROPERTY HEFT_EIGEN_LIBRARIES)
  set(kind standard)
  foreach(library Eigen3::Eigen ${eigen_libraries})
    if(library IN_LIST ARG_DEPENDS)
      set(kind eigen)
    endif()
  endforeach()
  if(kind STREQUAL eigen)
    set_property(GLOBAL APPEND PROPERTY HEFT_EIGEN_LIBRARIES heft::${name})
  endif()
  if(ARG_LIGHT)
    set(kind light_${kind})
    heft_light(heft_${name})
  endif()
  heft_precompile(heft_${name} ${kind})
  heft_compile_together(heft_${name})
endfunction()

function(heft_test name)
  if(NOT HEFT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} heft_testing_main)
  target_compile_options(${name} PRIVATE ${HEFT_WARNINGS})
  heft_light(${name})
  heft_precompile(${name} tests)
  heft_compile_together(${name})
  foreach(source ${ARG_SOURCES})
    get_filename_component(file ${source} NAME)
    get_filename_component(test ${source} NAME_WE)
    if(ARG_SOURCES STREQUAL source)
      set(test ${name})
    endif()
    get_property(names GLOBAL PROPERTY HEFT_TEST_NAMES)
    if(test IN_LIST names)
      message(FATAL_ERROR "two tests are called ${test}: rename ${file} of ${name}")
    endif()
    set_property(GLOBAL APPEND PROPERTY HEFT_TEST_NAMES ${test})
    add_test(NAME ${test} COMMAND ${name} --source=${file})
    set_tests_properties(${test} PROPERTIES TIMEOUT 900)
  endforeach()
endfunction()
