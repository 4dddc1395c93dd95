# The generated reference: build/docs/*.md from the TableGen definitions, with every build or by `ninja stretto-doc`.
add_custom_target(stretto-doc ALL COMMENT "Reference pages are in ${PROJECT_BINARY_DIR}/docs")

# stretto_doc(NAME FILE.td options...): one page.
function(stretto_doc name td)
  set(page "${PROJECT_BINARY_DIR}/docs/${name}.md")
  set(root "${PROJECT_SOURCE_DIR}/include")
  file(GLOB words CONFIGURE_DEPENDS "${root}/stretto/Dialect/*/IR/*.td")
  add_custom_command(OUTPUT "${page}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${PROJECT_BINARY_DIR}/docs"
    COMMAND "${MLIR_TABLEGEN_EXE}" ${ARGN} -I "${root}" -I "${MLIR_INCLUDE_DIRS}"
      "${root}/stretto/${td}" -o "${page}"
    DEPENDS "${root}/stretto/${td}" ${words} VERBATIM)
  add_custom_target(stretto-doc-${name} DEPENDS "${page}")
  add_dependencies(stretto-doc stretto-doc-${name})
endfunction()

stretto_doc(dialect-stretto Dialect/Stretto/IR/StrettoOps.td -gen-dialect-doc -dialect=stretto)
stretto_doc(dialect-program Dialect/Program/IR/ProgramOps.td -gen-dialect-doc -dialect=program)
stretto_doc(interfaces Dialect/Stretto/IR/StrettoInterfaces.td -gen-op-interface-docs)
# Every room with passes has a page; a new room needs no line here.
file(GLOB_RECURSE passes CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include/stretto" "*/Passes.td")
foreach(file ${passes})
  get_filename_component(room "${file}" DIRECTORY)
  get_filename_component(room "${room}" NAME)
  string(TOLOWER "passes-${room}" name)
  stretto_doc(${name} "${file}" -gen-pass-doc)
endforeach()
