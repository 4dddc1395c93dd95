# Finds the ground Stretto stands on: LLVM/MLIR 22, ccache and lld when present.
set(LLVM_VERSION_WANTED 22)
list(APPEND CMAKE_PREFIX_PATH "/usr/lib/llvm-${LLVM_VERSION_WANTED}")
find_package(MLIR REQUIRED CONFIG)
find_package(LLVM REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL LLVM_VERSION_WANTED)
  message(FATAL_ERROR "Stretto needs LLVM/MLIR ${LLVM_VERSION_WANTED}, found ${LLVM_PACKAGE_VERSION}")
endif()
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

find_program(CCACHE ccache)
if(CCACHE)
  # CCACHE_BASEDIR makes several checkouts share one cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${CCACHE}")
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  find_program(LLD_LINKER NAMES ld.lld-${LLVM_VERSION_WANTED} ld.lld)
  if(LLD_LINKER)
    add_link_options("--ld-path=${LLD_LINKER}")
  endif()
endif()
add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-deprecated-declarations -fdiagnostics-color=never
                    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
