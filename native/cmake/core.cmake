# The engines and sampling.

# The engines. They include no header of Node.
file(GLOB_RECURSE AANA_CORE_SOURCES CONFIGURE_DEPENDS native/src/core/*.cc)
list(FILTER AANA_CORE_SOURCES EXCLUDE REGEX "/core/(compute|whisper|llama/(sampling|grammar|speculation))/|/mtmd_projector[.]cc$")
add_library(aana_core STATIC ${AANA_CORE_SOURCES})

# A unit of its own, so that two processors compile the engines.
file(GLOB_RECURSE AANA_SPEECH_SOURCES CONFIGURE_DEPENDS native/src/core/whisper/*.cc)
add_library(aana_speech OBJECT ${AANA_SPEECH_SOURCES})
target_sources(aana_core PRIVATE $<TARGET_OBJECTS:aana_speech>)

foreach(library aana_core aana_speech)
  target_compile_definitions(${library} PUBLIC AANA_BUILD_MODE="${AANA_BUILD_MODE}")
  target_include_directories(${library} PUBLIC native/src)
  target_compile_options(${library} PRIVATE ${AANA_WARNINGS})
  target_link_libraries(${library} PUBLIC aana_sampling aana_compute llama-common llama whisper ggml Threads::Threads ${CMAKE_DL_LIBS})
endforeach()
# Loops over logits are in aana_sampling, those over samples and logits of speech in aana_speech.
target_compile_options(aana_core PRIVATE ${AANA_FAST_COMPILATION})

# Sampling and grammars, whose loops are over all tokens of a vocabulary. They include no header of llama.cpp.
file(GLOB_RECURSE AANA_SAMPLING_SOURCES CONFIGURE_DEPENDS native/src/core/llama/sampling/*.cc native/src/core/llama/grammar/*.cc
     native/src/core/llama/speculation/*.cc)
add_library(aana_sampling STATIC ${AANA_SAMPLING_SOURCES})
target_include_directories(aana_sampling PUBLIC native/src)
target_link_libraries(aana_sampling PUBLIC Threads::Threads)
target_compile_options(aana_sampling PRIVATE ${AANA_WARNINGS})
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  # Without these the loops over a whole vocabulary or all positions of an audio are not vectorised. Nothing here looks at floating-point exceptions.
  set_source_files_properties(native/src/core/llama/sampling/weights.cc native/src/core/whisper/words/alignment.cc PROPERTIES COMPILE_OPTIONS "-O3;-fno-trapping-math")
endif()
