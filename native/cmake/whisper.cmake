# Compiles whisper.cpp's one source file against llama.cpp's ggml, so that the process has only one ggml.

set(AANA_WHISPER_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/whisper.cpp)
file(READ ${AANA_WHISPER_DIR}/src/whisper.cpp AANA_WHISPER_TEXT)

function(aana_change_whisper what found replacement)
  string(FIND "${AANA_WHISPER_TEXT}" "${found}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "this version of whisper.cpp lacks the expected code where ${what}; update native/cmake/whisper.cmake")
  endif()
  string(REPLACE "${found}" "${replacement}" text "${AANA_WHISPER_TEXT}")
  set(AANA_WHISPER_TEXT "${text}" PARENT_SCOPE)
endfunction()

# Aligning words to less than 160 ms of audio fails an assertion in whisper.cpp's median filter, which ends the process.
# Such a piece is not aligned; its words get times from the segment's times.
aana_change_whisper("word alignment is guarded"
  "if (ctx->params.dtw_token_timestamps && n_segments) {"
  "if (ctx->params.dtw_token_timestamps && n_segments && std::min(seek_delta, seek_end - seek) >= 16) {")

# whisper.cpp calls back only between graphs, and the graph of a large encoder takes minutes on one core. ComputeWatch
# adds a sign of life for each node of a graph.
aana_change_whisper("backends are set up"
  "auto * fn_set_n_threads = "
  "aana::ComputeWatch::Attach(backend, reg); auto * fn_set_n_threads = ")
string(PREPEND AANA_WHISPER_TEXT "#include \"core/whisper/compute_watch.h\"\n")

file(CONFIGURE OUTPUT ${AANA_WHISPER_SOURCE} CONTENT "@AANA_WHISPER_TEXT@" @ONLY)

add_library(whisper STATIC ${AANA_WHISPER_SOURCE})
target_include_directories(whisper SYSTEM PUBLIC ${AANA_WHISPER_DIR}/include PRIVATE ${AANA_WHISPER_DIR}/src native/src)
target_compile_definitions(whisper PRIVATE WHISPER_VERSION="${AANA_WHISPER_VERSION}")
target_compile_options(whisper PRIVATE -w)
target_link_libraries(whisper PUBLIC ggml Threads::Threads)
