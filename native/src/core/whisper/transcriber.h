#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/pulse.h"
#include "core/whisper/decoder/decoder.h"
#include "core/whisper/decoder/window_decoder.h"
#include "core/whisper/words/words.h"
#include "core/whisper/segments.h"
#include "core/whisper/speech_windows.h"
#include "core/whisper/types.h"
#include "core/whisper/whisper_model.h"

namespace aana {

// Sets `language` and returns true if it is known without audio: because the request names it or the model has only
// one. Throws WhisperError for a name that whisper.cpp does not know.
bool KnownLanguage(const WhisperModel& model, const std::string& asked, Language& language);

// The most hypotheses of a window that are decoded at the same time.
size_t RowsOf(const WhisperParams& params);

// A window to transcribe. What it points to must live until `on_end` was called.
struct TranscriptionJob {
  const SpeechWindow* window;
  const AudioSource* media;
  const WhisperParams* params;
  const std::atomic<bool>* cancelled;
  bool is_first;      // of its audio
  Language language;  // empty: it is detected
  // The tokens of the text before the window, for `condition_on_previous_text`.
  std::vector<int32_t> previous;

  // Called with all languages, the likeliest first, when they were detected. Returns whether the window is to be
  // decoded now. If not, it ends without text.
  std::function<bool(const std::vector<Language>&)> on_language;
  std::function<void(std::vector<WhisperSegment>, const Language&)> on_segments;
  // Called exactly once, with a WhisperError or an AudioError if it failed, and with the tokens of the text before the
  // next window.
  std::function<void(const std::exception_ptr&, std::vector<int32_t> previous)> on_end;
};

// Transcribes windows on one thread: encodes them one after another and decodes them together.
class Transcriber {
 public:
  // `on_node` is called continuously while audio is encoded. It may cancel windows. `model` and `pulse` must outlive
  // this.
  Transcriber(const WhisperModel& model, int threads, Pulse& pulse, std::function<void()> on_node);
  ~Transcriber();
  Transcriber(const Transcriber&) = delete;
  Transcriber& operator=(const Transcriber&) = delete;

  // Encodes the window's audio, which the next steps decode. Does not throw.
  void Begin(TranscriptionJob job);
  // Decodes one token of each window, or more. Does not throw.
  void Step();
  // The number of windows that are being decoded.
  size_t size() const { return running_.size(); }
  // The most rows of a step.
  size_t rows() const;

 private:
  struct Running;
  using Place = std::list<std::unique_ptr<Running>>::iterator;

  void Prepare(Running& running);
  void BeginPart(Running& running);
  // Returns the languages of the encoded audio, the likeliest first.
  std::vector<Language> DetectLanguages(Running& running);
  DecodingTask TaskFor(const Running& running) const;
  // Returns whether the window goes on with another part.
  bool EndPart(Running& running);
  // Leaves out text that was probably invented. Returns where the audio goes on if it leaves something out.
  std::optional<double> LeaveOutHallucinationsOf(Running& running, PartText& part, double duration) const;
  std::vector<std::vector<TimedWord>> TimeWordsOf(Running& running, std::vector<TokenSegment>& segments,
                                                  double duration);
  Place End(Place place, const std::exception_ptr& failure);

  const WhisperModel& model_;
  const int threads_;
  Pulse& pulse_;
  const std::function<void()> on_node_;
  // Destroyed in reverse order: windows before the cells of the decoder that they hold.
  WhisperStatePtr state_;
  std::unique_ptr<Decoder> decoder_;
  std::vector<EncodedAudioPtr> free_audio_;
  std::list<std::unique_ptr<Running>> running_;
};

}  // namespace aana
