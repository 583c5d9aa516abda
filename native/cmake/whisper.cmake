# whisper.cpp: one source file, compiled against llama.cpp's ggml, so that there is one ggml in the process.

# Aligning words to less than 160 ms of audio fails an assertion in whisper.cpp's median filter, which ends the process. Such a piece goes
# without alignment; its words then get times from the segment's.
set(AANA_WHISPER_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/whisper.cpp)
set(found "if (ctx->params.dtw_token_timestamps && n_segments) {")
set(replacement "if (ctx->params.dtw_token_timestamps && n_segments && std::min(seek_delta, seek_end - seek) >= 16) {")
file(READ ${AANA_WHISPER_DIR}/src/whisper.cpp AANA_WHISPER_TEXT)
string(FIND "${AANA_WHISPER_TEXT}" "${found}" AANA_WHISPER_POSITION)
if(AANA_WHISPER_POSITION EQUAL -1)
  message(FATAL_ERROR "this version of whisper.cpp differs where word alignment is guarded: look at native/cmake/whisper.cmake")
endif()
string(REPLACE "${found}" "${replacement}" AANA_WHISPER_TEXT "${AANA_WHISPER_TEXT}")
file(CONFIGURE OUTPUT ${AANA_WHISPER_SOURCE} CONTENT "@AANA_WHISPER_TEXT@" @ONLY)

add_library(whisper STATIC ${AANA_WHISPER_SOURCE})
target_include_directories(whisper SYSTEM PUBLIC ${AANA_WHISPER_DIR}/include PRIVATE ${AANA_WHISPER_DIR}/src)
target_compile_definitions(whisper PRIVATE WHISPER_VERSION="${AANA_WHISPER_VERSION}")
target_compile_options(whisper PRIVATE -w)
target_link_libraries(whisper PUBLIC ggml Threads::Threads)
