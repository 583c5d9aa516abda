# Uses llama.cpp and ggml as published shared libraries, with the headers of the same version. ggml's backends are
# loaded at run time.

function(aana_import_library name pattern)
  file(GLOB found ${AANA_PREBUILT_DIR}/${pattern})
  list(LENGTH found count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "expected exactly one ${pattern} in ${AANA_PREBUILT_DIR}, found ${count}")
  endif()
  add_library(${name} SHARED IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${found} INTERFACE_INCLUDE_DIRECTORIES "${ARGN}")
endfunction()

aana_import_library(ggml-base "libggml-base.so" ${AANA_LLAMA_DIR}/ggml/include)
aana_import_library(ggml "libggml.v*.so" ${AANA_LLAMA_DIR}/ggml/include)
aana_import_library(llama "libllama.v*.so" ${AANA_LLAMA_DIR}/include)
aana_import_library(llama-common "libllama-common.so" ${AANA_LLAMA_DIR}/common ${AANA_LLAMA_DIR}/vendor)
set_property(TARGET ggml APPEND PROPERTY INTERFACE_LINK_LIBRARIES ggml-base)
set_property(TARGET llama APPEND PROPERTY INTERFACE_LINK_LIBRARIES ggml)
set_property(TARGET llama-common APPEND PROPERTY INTERFACE_LINK_LIBRARIES llama)
