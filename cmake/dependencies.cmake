# SPDX-License-Identifier: Apache-2.0
# Every dependency is a Debian package; docs/dependencies.md gives the reason for each and
# scripts/install-dependencies installs them.
find_package(Threads REQUIRED)
find_package(absl REQUIRED CONFIG)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
if(HEFT_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(HEFT_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
