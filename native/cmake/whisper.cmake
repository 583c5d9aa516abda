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

# Leaves out the code from `first` to `next`.
function(aana_shorten_whisper what first next)
  aana_change_whisper("${what}" "${first}" "#if 0\n${first}")
  aana_change_whisper("the code after that follows (${what})" "${next}" "#endif\n${next}")
  set(AANA_WHISPER_TEXT "${AANA_WHISPER_TEXT}" PARENT_SCOPE)
endfunction()

# whisper.cpp calls back only between graphs, and the graph of a large encoder takes minutes on one core. ComputeWatch
# adds a sign of life for each node of a graph.
aana_change_whisper("backends are set up"
  "auto * fn_set_n_threads = "
  "aana::ComputeWatch::Attach(backend, reg); auto * fn_set_n_threads = ")

# Our own decoder computes the text (native/src/core/whisper/decoder), so whisper.cpp's is not compiled, and a state needs no cache for it.
aana_shorten_whisper("the decoder begins" "static struct ggml_cgraph * whisper_build_graph_decoder(" "static std::string to_timestamp(")
aana_shorten_whisper("a state prepares times of words" "    // [EXPERIMENTAL] Token-level timestamps with DTW\n    if (ctx->" "#ifdef WHISPER_USE_COREML\n    const auto path_coreml")
aana_shorten_whisper("a state allocates its decoder" "    // decoder allocator\n" "    return state;\n}\n\nint whisper_ctx_init_openvino_encoder_with_state(")
aana_shorten_whisper("tokens are decoded" "int whisper_decode_with_state(" "int whisper_tokenize(")
aana_shorten_whisper("the language is detected" "int whisper_lang_auto_detect_with_state(" "int whisper_model_n_vocab(")
aana_shorten_whisper("segments with a voice are found" "struct whisper_vad_segments * whisper_vad_segments_from_probs(" "void whisper_vad_free(")
aana_shorten_whisper("transcription begins" "// Grammar - ported from llama.cpp\n" "void whisper_log_set(")
aana_change_whisper("a state allocates its cache"
  "GGML_PAD(ctx->model.hparams.n_text_ctx, 256))) {\n        WHISPER_LOG_ERROR(\"%s: whisper_kv_cache_init() failed for self-attention cache\\n\", __func__);\n        whisper_free_state(state);\n        return nullptr;"
  "1)) {\n        WHISPER_LOG_ERROR(\"%s: whisper_kv_cache_init() failed for self-attention cache\\n\", __func__);\n        whisper_free_state(state);\n        return nullptr;")
aana_change_whisper("a state allocates its results" "    state->logits.reserve(ctx->vocab.n_vocab * ctx->model.hparams.n_text_ctx);\n" "")

# std::regex takes a third of the compilation, and is used only here.
aana_shorten_whisper("a text is split" "        std::string str = text;\n" "    // find the longest tokens that form the words:\n")
aana_change_whisper("words are found" "    // find the longest tokens that form the words:\n" "    words = aana::Pretokenise(text);\n    }\n")
aana_change_whisper("regular expressions are included" "#include <regex>\n" "")

# Our own spectrogram takes a fourteenth of the time (native/src/core/whisper/audio).
aana_shorten_whisper("the spectrogram begins" "#define SIN_COS_N_COUNT WHISPER_N_FFT\n" "// split text into tokens\n")
aana_shorten_whisper("a state gets a spectrogram" "int whisper_pcm_to_mel_with_state(" "int whisper_set_mel_with_state(")

# Matrices, attention to the audio and activations take most of the time. native/src/core/compute computes them where that is faster.
aana_change_whisper("memory is chosen"
  "ggml_backend_buffer_type_t buft = select_weight_buft(hparams, meta, op, buft_list);"
  "ggml_backend_buffer_type_t buft = aana::compute::MemoryFor(meta, select_weight_buft(hparams, meta, op, buft_list));")
aana_change_whisper("weights were read"
  "    wctx.t_load_us = ggml_time_us() - t_start_us;\n"
  "    for (const auto & [name, tensor] : model.tensors) aana::compute::PackWeights(tensor);
    wctx.t_load_us = ggml_time_us() - t_start_us;\n")
aana_change_whisper("matrices are multiplied" "ggml_mul_mat(ctx0," "aana::compute::MulMat(ctx0,")
aana_change_whisper("audio is convolved" "ggml_conv_1d_ph(ctx0," "aana::compute::Convolution(ctx0,")
aana_change_whisper("an activation is computed" "cur = ggml_gelu(ctx0, cur);" "cur = aana::compute::Gelu(ctx0, cur, model.e_conv_1_w);")
aana_change_whisper("the encoder's attention is computed"
  "if (wctx.params.flash_attn) {\n                ggml_build_forward_expand(gf, ggml_cpy(ctx0, Kcur, ggml_view_1d(ctx0, kv_pad.k, n_ctx*n_state, 0)));"
  "if (ggml_tensor * fast = aana::compute::Attention(ctx0, Qcur, Kcur, Vcur, n_head, layer.attn_q_w)) {
                cur = fast;
            } else if (wctx.params.flash_attn) {\n                ggml_build_forward_expand(gf, ggml_cpy(ctx0, Kcur, ggml_view_1d(ctx0, kv_pad.k, n_ctx*n_state, 0)));")
# A token reads the keys and values of the audio head by head.
foreach(part k v)
  aana_change_whisper("the place of keys and values of the audio is chosen (${part})"
    "            ${part} = ggml_view_1d(ctx0, wstate.kv_cross.${part}, n_state*n_ctx,
                    (ggml_element_size(wstate.kv_cross.${part})*n_state)*(il*n_ctx_pad));\n"
    "            ${part} = aana::compute::HeadsOf(ctx0, wstate.kv_cross.${part}, n_state, n_head, n_ctx_pad, il);\n")
endforeach()
aana_change_whisper("keys of the audio are kept" "ggml_cpy(ctx0, Kcross, k)" "aana::compute::StoreHeads(ctx0, Kcross, k, layer.cross_attn_k_w)")
aana_change_whisper("values of the audio are kept" "ggml_cpy(ctx0, Vcross, v)" "aana::compute::StoreHeads(ctx0, Vcross, v, layer.cross_attn_v_w)")
string(PREPEND AANA_WHISPER_TEXT "#include \"core/compute/graph_ops.h\"\n#include \"core/whisper/compute_watch.h\"\n#include \"core/whisper/decoder/whisper_access.h\"\n#include \"core/whisper/words/pretokenise.h\"\n")

# The state of a voice activity model has no interface. With it, one detector analyses parts of several audios in turn. The last functions give our
# decoder the weights and the encoded audio.
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

namespace aana {

struct EncodedAudio {
    whisper_kv_cache cache;
};

EncodedAudio * NewEncodedAudio(whisper_context * ctx, whisper_state * state) {
    const auto & hparams = ctx->model.hparams;
    auto * audio = new EncodedAudio;
    if (state->kv_cross.buffer) {
        std::swap(audio->cache, state->kv_cross);
        return audio;
    }
    if (!whisper_kv_cache_init(audio->cache, state->backends[0], ctx->itype, hparams.n_text_state, hparams.n_text_layer, GGML_PAD(hparams.n_audio_ctx, 256))) {
        delete audio;
        return nullptr;
    }
    return audio;
}

void FreeEncodedAudio(EncodedAudio * audio) {
    whisper_kv_cache_free(audio->cache);
    delete audio;
}

void SwapEncodedAudio(whisper_state * state, EncodedAudio * audio) { std::swap(state->kv_cross, audio->cache); }
void SetAudioPositions(whisper_state * state, int n_positions) { state->exp_n_audio_ctx = n_positions; }
ggml_tensor * KeysOf(const EncodedAudio * audio) { return audio->cache.k; }
ggml_tensor * ValuesOf(const EncodedAudio * audio) { return audio->cache.v; }

std::vector<ggml_backend_t> NewBackends(whisper_context * ctx) { return whisper_backend_init(ctx->params); }

DecoderWeights WeightsOf(whisper_context * ctx) {
    const auto & model = ctx->model;
    const auto & hparams = model.hparams;
    DecoderWeights weights = {hparams.n_vocab, hparams.n_text_ctx, hparams.n_text_state, hparams.n_text_head, hparams.eps,
                              model.d_te, model.d_pe, {model.d_ln_w, model.d_ln_b}, {}};
    for (const auto & layer : model.layers_decoder) {
        weights.layers.push_back({{layer.attn_ln_0_w, layer.attn_ln_0_b}, {layer.attn_q_w, layer.attn_q_b}, {layer.attn_k_w, nullptr},
                                  {layer.attn_v_w, layer.attn_v_b}, {layer.attn_ln_1_w, layer.attn_ln_1_b},
                                  {layer.cross_attn_ln_0_w, layer.cross_attn_ln_0_b}, {layer.cross_attn_q_w, layer.cross_attn_q_b},
                                  {layer.cross_attn_ln_1_w, layer.cross_attn_ln_1_b},
                                  {layer.mlp_ln_w, layer.mlp_ln_b}, {layer.mlp_0_w, layer.mlp_0_b}, {layer.mlp_1_w, layer.mlp_1_b}});
    }
    return weights;
}

std::span<const float> SpectrogramFiltersOf(const whisper_context * ctx) { return ctx->model.filters.data; }

std::vector<AlignmentHead> AlignmentHeadsOf(int preset) {
    std::vector<AlignmentHead> heads;
    const auto found = g_aheads.find(static_cast<whisper_alignment_heads_preset>(preset));
    if (found == g_aheads.end()) return heads;
    for (size_t i = 0; i < found->second.n_heads; i++) heads.push_back({found->second.heads[i].n_text_layer, found->second.heads[i].n_head});
    return heads;
}

}  // namespace aana
]])

file(CONFIGURE OUTPUT ${AANA_WHISPER_SOURCE} CONTENT "@AANA_WHISPER_TEXT@" @ONLY)

add_library(whisper STATIC ${AANA_WHISPER_SOURCE})
target_include_directories(whisper SYSTEM PUBLIC ${AANA_WHISPER_DIR}/include PRIVATE ${AANA_WHISPER_DIR}/src native/src)
target_compile_definitions(whisper PRIVATE WHISPER_VERSION="${AANA_WHISPER_VERSION}")
target_compile_options(whisper PRIVATE -w)
target_link_libraries(whisper PUBLIC aana_compute ggml Threads::Threads)
