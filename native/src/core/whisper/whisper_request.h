#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/whisper/audio/audio_source.h"
#include "core/whisper/search/language_vote.h"
#include "core/whisper/speech/speech_scan.h"
#include "core/whisper/speech_windows.h"
#include "core/whisper/whisper_engine.h"

namespace aana {

// A part of the audio of a request that is transcribed in one piece.
struct WhisperEngine::Window {
  Window(SpeechWindow window, size_t place) : speech(std::move(window)), number(place) {}

  const SpeechWindow speech;
  const size_t number;  // among the windows of its audio, from 0 on
  // Guarded by the engine's lock.
  std::vector<WhisperSegment> segments = {};
  size_t n_delivered = 0;
  bool is_done = false;
  bool is_postponed = false;  // it is decoded when the language is decided
};

// A request from its submission to its end.
struct WhisperEngine::Request {
  Request(uint64_t request_id, OpenAudio open, WhisperParams asked)
      : id(request_id),
        open_audio(std::move(open)),
        params(std::move(asked)),
        vote(params.multilingual ? 1 : params.language_detection_segments,
             static_cast<double>(params.language_detection_threshold)) {}

  const uint64_t id;
  const OpenAudio open_audio;
  const WhisperParams params;
  RequestTerms terms = {};
  Listener listener = {};
  std::atomic<bool> cancelled{false};  // nobody waits for the result any more

  // Only the thread that analyses uses the scan. The audio is set before the first window.
  std::shared_ptr<AudioSource> audio;
  std::optional<SpeechScan> scan;

  // Everything below is guarded by the engine's lock.
  bool has_ended = false;
  bool is_analysing = false;
  bool is_analysed = false;  // all windows are known
  // Its audio lacks samples, and is not looked at before this.
  std::chrono::steady_clock::time_point next_look = std::chrono::steady_clock::time_point::min();
  std::deque<WindowPtr> windows;       // the known windows without those of which all segments were delivered
  std::deque<WindowPtr> waiting;       // the known windows that no thread has begun
  bool has_begun = false;              // a thread has begun the first window
  size_t n_windows = 0;                // known so far
  size_t n_running = 0;                // windows that threads have begun and not ended
  bool has_text = false;               // the text of a window is complete
  std::vector<int32_t> previous = {};  // tokens of the text before the next window, for `condition_on_previous_text`
  int64_t next_window_begin = 0;       // no unknown window begins before this
  double progress = 0;                 // as it was reported last
  Language language = {};
  LanguageVote vote;          // decides the language if it has to be detected
  WhisperResult result = {};  // the segments so far, unless the listener gets them

  // The samples whose text is complete. Windows that are decoded together end in any order.
  int64_t SamplesDone() const {
    int64_t samples = windows.empty() ? next_window_begin : windows.front()->speech.begin();
    for (size_t i = 0; i < windows.size(); i++) {
      const auto& speech = windows[i]->speech;
      const auto next =
          i + 1 < windows.size() ? windows[i + 1]->speech.begin() : std::max(next_window_begin, speech.end());
      if (windows[i]->is_done)
        samples += std::max<int64_t>(0, next - speech.begin());  // clips need not follow one another
    }
    return samples;
  }

  bool IsLanguageKnown() const { return params.multilingual || !language.code.empty(); }

  // The place of the next window in `waiting`: the first one. While the language is not known, windows vote one after
  // another and wait again.
  size_t next_place() const { return IsLanguageKnown() ? 0 : vote.n_parts(); }

  bool CanTranscribe() const {
    const size_t most =
        params.condition_on_previous_text || !IsLanguageKnown() ? 1 : static_cast<size_t>(params.max_windows);
    return next_place() < waiting.size() && (most == 0 || n_running < most);
  }

  // Returns whether the window is to be decoded now.
  bool Vote(Window& window, const std::vector<Language>& languages) {
    if (!language.code.empty()) return true;  // each window has its own
    vote.Add(languages);
    const bool is_decided = TakeDecision();
    window.is_postponed = !params.multilingual && !(is_decided && window.number == 0);
    return !window.is_postponed;
  }

  // Takes a window that has voted. If it has decided the language, threads may have begun other windows meanwhile.
  void TakeBack(const WindowPtr& window) {
    window->is_postponed = false;
    const auto next =
        std::ranges::find_if(waiting, [&](const WindowPtr& other) { return other->number > window->number; });
    waiting.insert(next, window);
    EndVote();
  }

  bool TakeDecision() {
    if (vote.languages().empty()) return false;
    language = vote.languages().front();
    if (params.all_language_probs) result.languages = vote.languages();
    return true;
  }

  // Decides the language when all windows have voted.
  void EndVote() {
    if (IsLanguageKnown() || n_running > 0 || !is_analysed || vote.n_parts() == 0 || vote.n_parts() < waiting.size())
      return;
    vote.Close();
    TakeDecision();
  }
};

// What a thread does next for a request.
struct WhisperEngine::Work {
  RequestPtr request;
  WindowPtr window;  // null: the audio is to be analysed
};

}  // namespace aana
