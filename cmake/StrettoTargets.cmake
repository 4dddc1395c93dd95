# Target helpers. Compiler libraries are static and link the shared libMLIR and
# libLLVM once, at the tool; runtime libraries see no LLVM header at all.

# stretto_library(NAME sources... [LINK libs...] [DEPENDS targets...])
function(stretto_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include")
  target_include_directories(${name} SYSTEM PUBLIC
    ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  separate_arguments(definitions UNIX_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_options(${name} PRIVATE -fno-rtti -fno-exceptions)
  target_compile_definitions(${name} PRIVATE ${definitions})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  add_dependencies(${name} stretto-headers ${ARG_DEPENDS})
endfunction()

# stretto_tool(NAME sources... [LINK libs...]): an executable over the compiler libraries.
function(stretto_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE -fno-rtti -fno-exceptions)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR LLVM)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  add_dependencies(${name} stretto-headers)
endfunction()

# stretto_runtime_library(NAME sources... [LINK libs...]): standalone, optimised.
function(stretto_runtime_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC
    "${PROJECT_SOURCE_DIR}/runtime/include" "${PROJECT_BINARY_DIR}/runtime/include")
  target_compile_options(${name} PRIVATE -O3)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  add_dependencies(${name} stretto-runtime-schema)
endfunction()

# stretto_unittest(NAME sources... [LINK libs...]): a GoogleTest binary that lit discovers
# under build/test/unit.
function(stretto_unittest name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  # lit finds GoogleTest binaries by this suffix.
  string(REGEX REPLACE "Tests?$" "" base ${name})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${base}Tests
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/unit")
  set_property(GLOBAL APPEND PROPERTY STRETTO_UNITTESTS ${name})
endfunction()
