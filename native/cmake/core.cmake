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
set(AANA_SPEECH_SOURCES ${AANA_CORE_SOURCES})
list(FILTER AANA_SPEECH_SOURCES INCLUDE REGEX "/core/whisper/")
list(REMOVE_ITEM AANA_CORE_SOURCES ${AANA_SPEECH_SOURCES})
add_library(aana_core STATIC ${AANA_CORE_SOURCES})
target_compile_options(aana_core PRIVATE ${AANA_FAST_COMPILATION})
# Recognition of speech has loops over samples and over all tokens of a vocabulary.
add_library(aana_speech OBJECT ${AANA_SPEECH_SOURCES})
target_sources(aana_core PRIVATE $<TARGET_OBJECTS:aana_speech>)
foreach(library aana_core aana_speech)
  target_compile_definitions(${library} PUBLIC AANA_BUILD_MODE="${AANA_BUILD_MODE}")
  target_include_directories(${library} PUBLIC native/src)
  target_compile_options(${library} PRIVATE ${AANA_WARNINGS})
  target_link_libraries(${library} PUBLIC aana_sampling aana_compute llama-common llama whisper ggml Threads::Threads ${CMAKE_DL_LIBS})
endforeach()
get_target_property(kind aana_images TYPE)
if(kind STREQUAL STATIC_LIBRARY)
  target_link_libraries(aana_core PUBLIC aana_images)
endif()
