// Runs the engines without Node under a sanitizer: load, generate, cancel, transcribe and close, also at the same time.
// CONTRIBUTING.md explains how to build and run it.
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/devices.h"
#include "core/engine_log.h"
#include "core/llama/engine.h"
#include "core/whisper/whisper_engine.h"

namespace {

using namespace aana;

void Check(bool is_true, const std::string& what) {
  std::printf("%s %s\n", is_true ? "ok  " : "FAIL", what.c_str());
  if (!is_true) throw std::runtime_error(what);
}

// Returns the samples of a mono WAV file with 16-bit samples at 16 kHz.
std::vector<float> ReadWav(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto data = bytes.find("data");
  if (data == std::string::npos) throw std::runtime_error(path + " has no samples");
  std::vector<float> samples;
  for (size_t at = data + 8; at + 1 < bytes.size(); at += 2) {
    int16_t sample = 0;
    std::memcpy(&sample, bytes.data() + at, sizeof sample);
    samples.push_back(static_cast<float>(sample) / 32768.0F);
  }
  return samples;
}

// Collects the events of an engine's requests. Until() waits on the calling thread.
class Reader {
 public:
  explicit Reader(const std::string& model_path) : engine_(Options(model_path), [this] { Wake(); }) {}

  llama::Engine& engine() { return engine_; }
  llama::Phase phase() const { return phase_; }
  const std::string& failure() const { return failure_; }
  const std::string& text(llama::RequestId id) { return text_by_id_[id]; }
  const llama::EndEvent* end(llama::RequestId id) const {
    const auto found = end_by_id_.find(id);
    return found == end_by_id_.end() ? nullptr : &found->second;
  }

  void Submit(llama::RequestId id, std::string prompt, int32_t n_tokens) {
    llama::Request request{.id = id, .prompt = std::move(prompt), .sampling = {}, .terms = {}};
    request.sampling.temperature = 0.0F;
    request.sampling.max_tokens = n_tokens;
    engine_.Submit(std::move(request));
  }

  void Until(const std::function<bool()>& is_there) {
    while (!is_there()) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return std::exchange(is_woken_, false); });
      }
      const auto delivery = engine_.Take();
      phase_ = delivery.phase;
      failure_ = delivery.failure;
      for (const auto& event : delivery.events) {
        if (const auto* text = std::get_if<llama::TextEvent>(&event.what)) {
          text_by_id_[event.id] += text->text;
          engine_.Acknowledge(event.id, 1);
        } else if (const auto* end = std::get_if<llama::EndEvent>(&event.what)) {
          end_by_id_[event.id] = *end;
        }
      }
    }
  }

 private:
  static llama::LoadOptions Options(const std::string& model_path) {
    llama::LoadOptions options;
    options.model_path = model_path;
    options.n_context = 256;
    options.n_sequences = 2;
    options.n_gpu_layers = 0;
    options.n_prefill_per_step = 32;
    return options;
  }

  void Wake() {
    std::lock_guard lock(mutex_);
    is_woken_ = true;
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_woken_ = false;
  llama::Phase phase_ = llama::Phase::kLoading;
  std::string failure_;
  std::map<llama::RequestId, std::string> text_by_id_;
  std::map<llama::RequestId, llama::EndEvent> end_by_id_;
  llama::Engine engine_;  // last, because its thread uses the members above
};

void DriveLlama(const std::string& model_path) {
  {
    Reader reader(model_path);
    reader.Until([&] { return reader.phase() != llama::Phase::kLoading; });
    Check(reader.phase() == llama::Phase::kReady,
          "a model loads" + (reader.failure().empty() ? "" : ": " + reader.failure()));
    reader.Submit(1, "Once upon a time", 40);
    reader.Submit(2, "There was a", 40);
    reader.Submit(3, "One day", 40);
    reader.Until([&] { return reader.end(1) && reader.end(2) && reader.end(3); });
    Check(!reader.text(1).empty() && !reader.text(2).empty() && !reader.text(3).empty(),
          "three requests in two places generate");
    reader.Submit(4, "Once upon a time", 240);
    reader.Until([&] { return !reader.text(4).empty(); });
    reader.engine().Cancel(4);
    reader.Until([&] { return reader.end(4) != nullptr; });
    Check(reader.end(4)->reason == llama::FinishReason::kCancelled, "a request is cancelled");
    reader.Submit(5, "Once upon a time", 240);
    reader.Submit(6, "There was a", 240);
    reader.Submit(7, "One day", 240);
    reader.Until([&] { return !reader.text(5).empty(); });
    reader.engine().Stop();
    reader.Until([&] { return reader.phase() == llama::Phase::kClosed; });
    Check(reader.end(5) && reader.end(6) && reader.end(7), "a stop ends running and waiting requests");
  }
  {
    Reader reader(model_path);
  }
  Check(true, "an engine can be destroyed while it loads");
  Reader reader(model_path + ".absent");
  reader.Until([&] { return reader.phase() != llama::Phase::kLoading; });
  Check(reader.phase() == llama::Phase::kFailed && !reader.failure().empty(), "a missing file is refused");
}

OpenAudio InMemory(std::vector<float> samples) {
  const auto audio = std::make_shared<AudioInMemory>(std::move(samples));
  return [audio] { return audio; };
}

void DriveWhisper(const std::string& model_path, const std::string& vad_path, const std::vector<float>& speech) {
  const WhisperOptions options{.model_path = model_path,
                               .vad_model_path = vad_path,
                               .use_gpu = false,
                               .device = "",
                               .threads = 1,
                               .max_states = 2,
                               .model_size = ""};
  WhisperEngine engine(options);
  uint64_t last_id = 0;
  const auto transcribe = [&](std::vector<float> samples, WhisperParams params) {
    auto ended = std::make_shared<std::promise<TranscriptionOutcome>>();
    engine.Transcribe(++last_id, InMemory(std::move(samples)), std::move(params), {},
                      {[](const WhisperSegment&) {}, [](double) {},
                       [ended](TranscriptionOutcome outcome) { ended->set_value(std::move(outcome)); }});
    return ended->get_future();
  };
  WhisperParams words;
  words.word_timestamps = true;
  WhisperParams beams;
  beams.beam_size = 2;
  beams.vad = false;
  auto plain = transcribe(speech, {});
  auto with_words = transcribe(speech, words);
  auto with_beams = transcribe(speech, beams);
  Check(!plain.get().result.segments.empty(), "speech is transcribed");
  const auto outcome = with_words.get();
  Check(!outcome.result.segments.empty() && !outcome.result.segments.front().words.empty(), "words have times");
  Check(!with_beams.get().result.segments.empty(), "beams find speech");

  auto cancelled = transcribe(speech, {});
  const auto steps = engine.steps();
  auto cancelled_in_words = transcribe(speech, words);
  engine.Cancel(last_id - 1);
  Check(cancelled.get().end == TranscriptionEnd::kCancelled, "a transcription is cancelled before it begins");
  for (const auto beats = engine.beats(); engine.beats() == beats && engine.steps() == steps;)
    std::this_thread::yield();
  engine.Cancel(last_id);
  const auto end = cancelled_in_words.get().end;
  Check(end == TranscriptionEnd::kCancelled || end == TranscriptionEnd::kDone,
        "a transcription is cancelled while it computes");

  auto closed = transcribe(speech, {});
  std::promise<TranscriptionOutcome> detected;
  engine.DetectSpeech(++last_id, InMemory(speech),
                      [&](TranscriptionOutcome speech_outcome) { detected.set_value(std::move(speech_outcome)); });
  engine.Close();
  Check(closed.get().end != TranscriptionEnd::kFailed && detected.get_future().get().end != TranscriptionEnd::kFailed,
        "a close ends running requests");
  Check(transcribe(speech, {}).get().end == TranscriptionEnd::kFailed, "a closed engine refuses work");
  try {
    WhisperEngine absent({.model_path = model_path + ".absent",
                          .vad_model_path = vad_path,
                          .use_gpu = false,
                          .device = "",
                          .threads = 1,
                          .max_states = 1,
                          .model_size = ""});
    Check(false, "a missing file is refused");
  } catch (const WhisperError&) {
    Check(true, "a missing file is refused");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr,
                 "usage: aana-driver <folder of the backends> <text model.gguf> <whisper model.bin> <silero model.bin> "
                 "<speech.wav>\n");
    return 2;
  }
  try {
    aana::SetLogSink([](aana::LogLevel level, std::string line) {
      if (level == aana::LogLevel::kError || level == aana::LogLevel::kWarn) std::fprintf(stderr, "%s\n", line.c_str());
    });
    aana::LoadBackends({argv[1]});
    const auto speech = ReadWav(argv[5]);
    std::thread llama([&] { DriveLlama(argv[2]); });  // a failure in it ends the process
    DriveWhisper(argv[3], argv[4], speech);
    llama.join();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(1);
  }
  return 0;
}
