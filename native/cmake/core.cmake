# Sampling and grammars, whose loops are over all tokens of a vocabulary. They include no header of llama.cpp.
file(GLOB AANA_SAMPLING_SOURCES CONFIGURE_DEPENDS native/src/core/llama/sampling/*.cc native/src/core/llama/grammar/*.cc
     native/src/core/llama/speculation/*.cc native/src/core/llama/threads/*.cc)
add_library(aana_sampling STATIC ${AANA_SAMPLING_SOURCES})
target_include_directories(aana_sampling PUBLIC native/src)
target_link_libraries(aana_sampling PUBLIC Threads::Threads)
target_compile_options(aana_sampling PRIVATE ${AANA_WARNINGS})
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  # Without these the loops over a whole vocabulary are not vectorised. Nothing here looks at floating-point exceptions.
  set_source_files_properties(native/src/core/llama/sampling/weights.cc PROPERTIES COMPILE_OPTIONS "-O3;-fno-trapping-math")
endif()

# The engines. They include no header of Node.
file(GLOB_RECURSE AANA_CORE_SOURCES CONFIGURE_DEPENDS native/src/core/*.cc)
list(REMOVE_ITEM AANA_CORE_SOURCES ${AANA_SAMPLING_SOURCES} ${AANA_COMPUTE_SOURCES} ${AANA_IMAGES_SOURCES})
add_library(aana_core STATIC ${AANA_CORE_SOURCES})
target_compile_definitions(aana_core PUBLIC AANA_BUILD_MODE="${AANA_BUILD_MODE}")
target_include_directories(aana_core PUBLIC native/src)
target_compile_options(aana_core PRIVATE ${AANA_WARNINGS})
target_link_libraries(aana_core PUBLIC aana_sampling aana_compute llama-common llama whisper ggml Threads::Threads ${CMAKE_DL_LIBS})
get_target_property(kind aana_images TYPE)
if(kind STREQUAL STATIC_LIBRARY)
  target_link_libraries(aana_core PUBLIC aana_images)
endif()
