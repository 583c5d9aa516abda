# Compiles llama.cpp and ggml from their sources, as static libraries, for the processor of this machine.

foreach(off LLAMA_BUILD_TESTS LLAMA_BUILD_TOOLS LLAMA_BUILD_EXAMPLES LLAMA_BUILD_SERVER LLAMA_BUILD_APP LLAMA_BUILD_MTMD
            LLAMA_OPENSSL LLAMA_SUBPROCESS LLAMA_TOOLS_INSTALL LLAMA_ALL_WARNINGS GGML_BUILD_TESTS GGML_BUILD_EXAMPLES)
  set(${off} OFF CACHE BOOL "" FORCE)
endforeach()
set(LLAMA_BUILD_COMMON ON CACHE BOOL "" FORCE)
set(BUILD_SHARED_LIBS OFF)
# The source tree comes without its git history.
set(LLAMA_BUILD_NUMBER 0)
set(LLAMA_BUILD_COMMIT "npm")

add_subdirectory(${AANA_LLAMA_DIR} llama.cpp EXCLUDE_FROM_ALL)
