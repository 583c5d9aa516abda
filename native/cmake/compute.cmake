# Kernels for processors with AVX2 or with AVX-512 and VNNI, and operations of ggml graphs that use them.

file(GLOB_RECURSE AANA_COMPUTE_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/native/src/core/compute/*.cc)
set(AANA_AVX512_SOURCES ${AANA_COMPUTE_SOURCES})
list(FILTER AANA_AVX512_SOURCES INCLUDE REGEX _avx512[.]cc$)
set(AANA_AVX2_SOURCES ${AANA_COMPUTE_SOURCES})
list(FILTER AANA_AVX2_SOURCES INCLUDE REGEX _avx2[.]cc$)
set(AANA_PORTABLE_SOURCES ${AANA_COMPUTE_SOURCES})
list(REMOVE_ITEM AANA_PORTABLE_SOURCES ${AANA_AVX512_SOURCES} ${AANA_AVX2_SOURCES})

add_library(aana_compute STATIC ${AANA_PORTABLE_SOURCES})
target_include_directories(aana_compute PUBLIC native/src)
target_compile_options(aana_compute PRIVATE ${AANA_WARNINGS})
# ggml's interface for backends is not among its public headers.
target_include_directories(aana_compute SYSTEM PRIVATE ${AANA_LLAMA_DIR}/ggml/src)
target_link_libraries(aana_compute PUBLIC ggml)
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  # Models load three times as fast with vectorised loops.
  set_source_files_properties(native/src/core/compute/matrix/matrix_form.cc native/src/core/compute/matrix/matrix_source.cc PROPERTIES COMPILE_OPTIONS "-O3")
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND NOT CMAKE_OSX_ARCHITECTURES MATCHES "arm64")
  target_sources(aana_compute PRIVATE ${AANA_AVX512_SOURCES} ${AANA_AVX2_SOURCES})
  target_compile_definitions(aana_compute PRIVATE AANA_HAS_X86_KERNELS)
  # GCC 12 takes the undefined vectors of its own intrinsics for uninitialised variables.
  set_source_files_properties(${AANA_AVX512_SOURCES} PROPERTIES
    COMPILE_OPTIONS "-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512vnni;-mfma;-mf16c;-Wno-uninitialized;$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>")
  set_source_files_properties(${AANA_AVX2_SOURCES} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c")
endif()
