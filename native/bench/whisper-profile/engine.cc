// Processor times of the stages of a transcription in the engine, without Node. Prints JSON.
//   aana-whisper-profile <folder of ggml's libraries> <model.bin> <samples: 32-bit floats, mono, 16 kHz> <windows>
//   <rounds> <tokens> <ours|ggml>
// The samples are cut into windows of 30 s. All times are the least of all rounds.
#include <ggml-backend.h>
#include <whisper.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/compute/kernel_sets.h"
#include "core/devices.h"
#include "core/whisper/decoder/decoder.h"
#include "core/whisper/decoder/window_decoder.h"
#include "core/whisper/search/prompt.h"
#include "core/whisper/whisper_model.h"
#include "core/whisper/words/alignment.h"

namespace {

constexpr int kOneThread = 1;
constexpr size_t kWindowSamples = 30UL * aana::kSampleRate;

double Milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

std::vector<double> graph_times;

}  // namespace

// The linker puts this in the place of the function that the engine calls, to measure each graph.
extern "C" {
ggml_status __real_ggml_backend_sched_graph_compute(ggml_backend_sched_t scheduler, ggml_cgraph* graph);
ggml_status __wrap_ggml_backend_sched_graph_compute(ggml_backend_sched_t scheduler, ggml_cgraph* graph) {
  const double begin = Milliseconds();
  const auto status = __real_ggml_backend_sched_graph_compute(scheduler, graph);
  graph_times.push_back(Milliseconds() - begin);
  return status;
}
}

namespace {

using namespace aana;

struct Least {
  double ms = std::numeric_limits<double>::infinity();
  void Keep(double value) { ms = std::min(ms, value); }
};

struct Window {
  EncodedAudioPtr audio;
  AudioKeys keys;
};

struct Times {
  Least spectrogram, convolutions, encoder, audio_keys, rest_of_encoding;
  Least prompt, token, token_graph, prompt_together, token_together, token_together_graph;
  Least attention_of_words, times_of_words;
  size_t n_tokens = 0;  // of all texts
  size_t n_tokens_together = 0;
};

class Profile {
 public:
  Profile(const char* model_path, std::vector<std::vector<float>> windows, int n_tokens)
      : model_({.model_path = model_path, .vad_model_path = {}, .device = {}, .model_size = {}}),
        samples_(std::move(windows)),
        n_tokens_(n_tokens),
        state_(model_.NewState()),
        decoder_(model_.context()) {
    for (size_t i = 0; i < samples_.size(); i++) {
      windows_.push_back({EncodedAudioPtr(NewEncodedAudio(model_.context(), state_.get())), {}});
      windows_.back().keys = {windows_.back().audio.get(), whisper_model_n_audio_ctx(model_.context())};
    }
    SetAudioPositions(state_.get(), whisper_model_n_audio_ctx(model_.context()));
  }

  void Round(Times& times) {
    for (size_t i = 0; i < windows_.size(); i++) Encode(i, times);
    Decode(1, times.prompt, times.token, times.token_graph, times.n_tokens);
    Decode(windows_.size(), times.prompt_together, times.token_together, times.token_together_graph,
           times.n_tokens_together);
    TimeWords(times);
  }

 private:
  void Encode(size_t i, Times& times) {
    double begin = Milliseconds();
    model_.SetAudio(state_.get(), samples_[i]);
    times.spectrogram.Keep(Milliseconds() - begin);
    SwapEncodedAudio(state_.get(), windows_[i].audio.get());
    graph_times.clear();
    begin = Milliseconds();
    const int status = whisper_encode_with_state(model_.context(), state_.get(), 0, kOneThread);
    const double all = Milliseconds() - begin;
    SwapEncodedAudio(state_.get(), windows_[i].audio.get());
    if (status != 0 || graph_times.size() != 3)
      throw std::runtime_error("the audio could not be encoded with three graphs");
    times.convolutions.Keep(graph_times[0]);
    times.encoder.Keep(graph_times[1]);
    times.audio_keys.Keep(graph_times[2]);
    times.rest_of_encoding.Keep(all - graph_times[0] - graph_times[1] - graph_times[2]);
  }

  DecodingTask Task() const {
    const auto& vocabulary = model_.vocabulary();
    DecodingTask task;
    PromptParts parts;
    parts.language = vocabulary.n_languages > 0 ? whisper_lang_id("en") : -1;
    task.prompt = MakePrompt(vocabulary, parts, decoder_.weights().text_positions);
    task.logits.suppressed = model_.non_speech_tokens();
    task.search = {.beam_size = 1,
                   .best_of = 1,
                   .temperature = 0,
                   .patience = 1,
                   .length_penalty = 1,
                   .max_tokens = n_tokens_,
                   .seed = 0};
    task.temperatures = {0};
    return task;
  }

  // The engine's steps for the first `n` windows, until each has `n_tokens_` tokens or has ended. A step that ends a
  // text is counted, too, and takes as long.
  void Decode(size_t n, Least& prompt, Least& token, Least& token_graph, size_t& tokens) {
    std::vector<std::unique_ptr<WindowDecoder>> decoders;
    for (size_t i = 0; i < n; i++)
      decoders.push_back(
          std::make_unique<WindowDecoder>(model_.vocabulary(), decoder_.cells(), windows_[i].keys, Task()));
    double all = 0;
    double graphs = 0;
    size_t n_rows = 0;
    for (bool is_prompt = true;; is_prompt = false) {
      const double begin = Milliseconds();
      graph_times.clear();
      std::vector<DecoderRow> rows;
      std::vector<size_t> n_wanted;
      for (const auto& decoder : decoders) {
        const auto before = static_cast<std::ptrdiff_t>(rows.size());
        if (!decoder->text()) decoder->AddRows(rows);
        n_wanted.push_back(static_cast<size_t>(
            std::count_if(rows.begin() + before, rows.end(), [](const auto& row) { return row.wants_logits; })));
      }
      if (rows.empty()) break;
      auto logits = decoder_.Compute(rows, kOneThread);
      for (size_t i = 0; i < decoders.size(); i++) {
        const auto size = n_wanted[i] * static_cast<size_t>(model_.vocabulary().size());
        if (size > 0) decoders[i]->Advance(logits.first(size));
        logits = logits.subspan(size);
      }
      const double time = Milliseconds() - begin;
      if (is_prompt) {
        prompt.Keep(time / static_cast<double>(n));
      } else {
        all += time;
        graphs += graph_times.front();
        n_rows += rows.size();
      }
    }
    text_ = decoders.front()->text()->tokens;
    tokens = n_rows + n;
    token.Keep(all / static_cast<double>(n_rows));
    token_graph.Keep(graphs / static_cast<double>(n_rows));
  }

  // The times of the words of the first window.
  void TimeWords(Times& times) {
    const auto& vocabulary = model_.vocabulary();
    auto tokens = StartTokens(vocabulary, vocabulary.n_languages > 0 ? whisper_lang_id("en") : -1, false);
    const auto first = tokens.size();
    tokens.push_back(vocabulary.no_timestamps);
    for (const auto& token : text_) {
      if (vocabulary.IsText(token.id)) tokens.push_back(token.id);
    }
    tokens.push_back(vocabulary.end);
    CellList cells(decoder_.cells());
    for (size_t i = 0; i < tokens.size(); i++) cells.Append();
    std::vector<DecoderRow> rows;
    for (size_t i = 0; i < tokens.size(); i++)
      rows.push_back({tokens[i], &windows_.front().keys, cells.first(i + 1), false});
    const auto& heads = model_.alignment_heads();
    const int n_frames = windows_.front().keys.n_positions;
    double begin = Milliseconds();
    const auto scores = decoder_.ComputeAlignment(rows, heads, n_frames, kOneThread);
    times.attention_of_words.Keep(Milliseconds() - begin);
    begin = Milliseconds();
    AlignTokens({scores, heads.size(), tokens.size(), static_cast<size_t>(n_frames)}, first, tokens.size() - 1);
    times.times_of_words.Keep(Milliseconds() - begin);
  }

  // Destroyed in reverse order: the model last.
  const WhisperModel model_;
  const std::vector<std::vector<float>> samples_;
  const int n_tokens_;
  WhisperStatePtr state_;
  Decoder decoder_;
  std::vector<Window> windows_;
  std::vector<Token> text_;  // of the first window
};

std::vector<std::vector<float>> ReadWindows(const char* path, size_t n_windows) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> samples(bytes.size() / sizeof(float));
  std::copy_n(bytes.data(), samples.size() * sizeof(float), reinterpret_cast<char*>(samples.data()));
  if (samples.size() < n_windows * kWindowSamples)
    throw std::runtime_error(std::string(path) + " is shorter than " + std::to_string(n_windows) + " windows of 30 s");
  std::vector<std::vector<float>> windows;
  for (size_t i = 0; i < n_windows; i++) {
    const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(i * kWindowSamples);
    windows.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(kWindowSamples));
  }
  return windows;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8) {
    std::fprintf(
        stderr,
        "usage: aana-whisper-profile <libraries> <model.bin> <samples> <windows> <rounds> <tokens> <ours|ggml>\n");
    return 2;
  }
  if (std::string_view(argv[7]) == "ggml") setenv("AANA_KERNELS", "none", 1);
  try {
    LoadBackends({argv[1]});
    Profile profile(argv[2], ReadWindows(argv[3], static_cast<size_t>(std::atoi(argv[4]))), std::atoi(argv[6]));
    Times times;
    for (int round = 0; round < std::max(1, std::atoi(argv[5])); round++) profile.Round(times);
    std::printf(
        "{\"kernels\": \"%s\", \"spectrogram\": %.3f, \"convolutions\": %.3f, \"encoder\": %.3f, \"audioKeys\": %.3f, "
        "\"restOfEncoding\": %.3f, ",
        compute::FastKernelSet() ? compute::FastKernelSet()->name : "ggml", times.spectrogram.ms, times.convolutions.ms,
        times.encoder.ms, times.audio_keys.ms, times.rest_of_encoding.ms);
    std::printf(
        "\"prompt\": %.3f, \"token\": %.4f, \"tokenGraph\": %.4f, \"promptTogether\": %.3f, \"tokenTogether\": %.4f, "
        "\"tokenTogetherGraph\": %.4f, \"tokens\": %zu, \"tokensTogether\": %zu, \"attentionOfWords\": %.3f, "
        "\"timesOfWords\": %.3f}\n",
        times.prompt.ms, times.token.ms, times.token_graph.ms, times.prompt_together.ms, times.token_together.ms,
        times.token_together_graph.ms, times.n_tokens, times.n_tokens_together, times.attention_of_words.ms,
        times.times_of_words.ms);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
