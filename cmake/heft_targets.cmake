# SPDX-License-Identifier: Apache-2.0
# heft_library(NAME SOURCES ... [DEPENDS ...]): a static library heft_NAME, alias heft::NAME.
# heft_test(NAME SOURCES ... [DEPENDS ...]): a GoogleTest program, whose main is base/testing_main.cc.
#   Of several sources, CTest knows each as a test of its own: NAME_test for NAME_test.cc.
include(GoogleTest OPTIONAL)

set(HEFT_WARNINGS -Wall -Wextra -Wshadow -Wno-sign-compare)

function(heft_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(heft_${name} STATIC ${ARG_SOURCES})
  add_library(heft::${name} ALIAS heft_${name})
  target_include_directories(heft_${name} PUBLIC
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(heft_${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  target_compile_options(heft_${name} PRIVATE ${HEFT_WARNINGS})
  heft_precompile(heft_${name})
endfunction()

function(heft_test name)
  if(NOT HEFT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} heft_testing_main)
  target_compile_options(${name} PRIVATE ${HEFT_WARNINGS})
  target_compile_definitions(${name} PRIVATE HEFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  foreach(source ${ARG_SOURCES})
    get_filename_component(file ${source} NAME)
    get_filename_component(test ${source} NAME_WE)
    if(ARG_SOURCES STREQUAL source)
      set(test ${name})
    endif()
    add_test(NAME ${test} COMMAND ${name} --source=${file})
    set_tests_properties(${test} PROPERTIES TIMEOUT 900)
  endforeach()
endfunction()
