// Runs the engine for speech without Node under a sanitizer: load, transcribe, cancel and close. CONTRIBUTING.md
// explains how to build and run it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/devices.h"
#include "core/engine_log.h"
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
  engine.Close();
  Check(closed.get().end != TranscriptionEnd::kFailed, "a close ends running requests");
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
  if (argc != 5) {
    std::fprintf(stderr,
                 "usage: aana-speech-driver <folder of the backends> <whisper model.bin> <silero model.bin> "
                 "<speech.wav>\n");
    return 2;
  }
  try {
    aana::SetLogSink([](aana::LogLevel level, std::string line) {
      if (level == aana::LogLevel::kError || level == aana::LogLevel::kWarn) std::fprintf(stderr, "%s\n", line.c_str());
    });
    aana::LoadBackends({argv[1]});
    DriveWhisper(argv[2], argv[3], ReadWav(argv[4]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(1);
  }
  return 0;
}
