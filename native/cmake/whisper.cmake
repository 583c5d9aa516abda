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

# The audio whose language was detected is not encoded again.
aana_change_whisper("a state begins"
  "struct whisper_state {\n"
  "struct whisper_state {\n    aana::EncodedPart aana_encoded;\n")
aana_change_whisper("a part of the spectrogram is encoded"
  "    ggml_abort_callback   abort_callback,\n                   void * abort_callback_data) {\n    const int64_t t_start_us = ggml_time_us();\n\n    // conv\n"
  "    ggml_abort_callback   abort_callback,\n                   void * abort_callback_data) {\n    const int64_t t_start_us = ggml_time_us();\n
    if (wstate.aana_encoded.Take(wstate.mel.data, mel_offset, wstate.exp_n_audio_ctx)) return !(abort_callback && abort_callback(abort_callback_data));
\n    // conv\n")
aana_change_whisper("the language is detected"
  "    if (whisper_encode_with_state(ctx, state, seek, n_threads) != 0) {\n        WHISPER_LOG_ERROR(\"%s: failed to encode\\n\", __func__);\n        return -6;\n    }\n"
  "    if (whisper_encode_with_state(ctx, state, seek, n_threads) != 0) {\n        WHISPER_LOG_ERROR(\"%s: failed to encode\\n\", __func__);\n        return -6;\n    }
    state->aana_encoded.Set(state->mel.data, seek, state->exp_n_audio_ctx);\n")

# A request gives a list of temperatures, not a step between them.
aana_change_whisper("temperatures are chosen"
  "    if (params.temperature_inc > 0.0f) {\n        for (float t = params.temperature;"
  "    if (const auto * asked = aana::AskedTemperatures::Current()) {
        temperatures = *asked;
    } else if (params.temperature_inc > 0.0f) {\n        for (float t = params.temperature;")
# The first decoder goes on with the random numbers of earlier requests; the others begin anew.
aana_change_whisper("decoders begin"
  "    // TAGS: WHISPER_DECODER_INIT\n    for (int j = 1; j < n_decoders; j++) {"
  "    state->decoders[0].rng = std::mt19937(0);\n    // TAGS: WHISPER_DECODER_INIT\n    for (int j = 1; j < n_decoders; j++) {")

# Matrices, attention to the audio and activations take most of the time. native/src/core/compute computes them where that is faster.
aana_change_whisper("weights were read"
  "    wctx.t_load_us = ggml_time_us() - t_start_us;\n"
  "    for (const auto & [name, tensor] : model.tensors) aana::compute::PackWeights(tensor);
    wctx.t_load_us = ggml_time_us() - t_start_us;\n")
aana_change_whisper("matrices are multiplied" "ggml_mul_mat(ctx0," "aana::compute::MulMat(ctx0,")
aana_change_whisper("tokens are looked up" "ggml_get_rows(ctx0, model.d_te, embd)" "aana::compute::GetRows(ctx0, model.d_te, embd)")
aana_change_whisper("an activation is computed" "cur = ggml_gelu(ctx0, cur);" "cur = aana::compute::Gelu(ctx0, cur, model.e_conv_1_w);")
aana_change_whisper("the encoder's attention is computed"
  "if (wctx.params.flash_attn) {\n                ggml_build_forward_expand(gf, ggml_cpy(ctx0, Kcur, ggml_view_1d(ctx0, kv_pad.k, n_ctx*n_state, 0)));"
  "if (ggml_tensor * fast = aana::compute::Attention(ctx0, Qcur, Kcur, Vcur, n_head, layer.attn_q_w)) {
                cur = fast;
            } else if (wctx.params.flash_attn) {\n                ggml_build_forward_expand(gf, ggml_cpy(ctx0, Kcur, ggml_view_1d(ctx0, kv_pad.k, n_ctx*n_state, 0)));")
aana_change_whisper("the decoder attends to the audio"
  "cur = ggml_flash_attn_ext(ctx0, Q, Kcross, Vcross, nullptr, KQscale, 0.0f, 0.0f);\n"
  "cur = aana::compute::CrossAttention(ctx0, Qcur, Kcross, Vcross, n_audio_ctx, KQscale, layer.cross_attn_q_w);
                if (!cur) cur = ggml_flash_attn_ext(ctx0, Q, Kcross, Vcross, nullptr, KQscale, 0.0f, 0.0f);\n")
string(PREPEND AANA_WHISPER_TEXT "#include \"core/compute/graph_ops.h\"\n#include \"core/whisper/asked_temperatures.h\"\n#include \"core/whisper/compute_watch.h\"\n#include \"core/whisper/encoded_part.h\"\n")

# The state of a voice activity model has no interface. With it, one detector analyses parts of several audios in turn.
string(APPEND AANA_WHISPER_TEXT [[

extern "C" size_t aana_vad_get_state(whisper_vad_context * vctx, float * values) {
    const size_t n = ggml_nelements(vctx->h_state);
    if (values != nullptr) {
        ggml_backend_tensor_get(vctx->h_state, values, 0, n * sizeof(float));
        ggml_backend_tensor_get(vctx->c_state, values + n, 0, n * sizeof(float));
    }
    return 2 * n;
}

extern "C" void aana_vad_set_state(whisper_vad_context * vctx, const float * values) {
    const size_t n = ggml_nelements(vctx->h_state);
    ggml_backend_tensor_set(vctx->h_state, values, 0, n * sizeof(float));
    ggml_backend_tensor_set(vctx->c_state, values + n, 0, n * sizeof(float));
}
]])

file(CONFIGURE OUTPUT ${AANA_WHISPER_SOURCE} CONTENT "@AANA_WHISPER_TEXT@" @ONLY)

add_library(whisper STATIC ${AANA_WHISPER_SOURCE})
target_include_directories(whisper SYSTEM PUBLIC ${AANA_WHISPER_DIR}/include PRIVATE ${AANA_WHISPER_DIR}/src native/src)
target_compile_definitions(whisper PRIVATE WHISPER_VERSION="${AANA_WHISPER_VERSION}")
target_compile_options(whisper PRIVATE -w)
target_link_libraries(whisper PUBLIC aana_compute ggml Threads::Threads)
