#include "core/whisper/speech/speech_cutter.h"

#include <algorithm>
#include <span>

#include "core/whisper/speech/quiet_place.h"
#include "core/whisper/speech/window_size.h"

namespace aana {
namespace {

// A longer silence inside a window is shortened to this, half on each side.
constexpr int64_t kLongSilence = 2 * kSampleRate;
// A window that is filled may end at a silence of at least this length, even if more would fit.
constexpr int64_t kGoodSilence = kSampleRate;
constexpr int64_t kMaxSpan = 120 * kSampleRate;

using Parts = std::span<const SpeechRegion>;

// Returns the parts as pieces of a window: joined, or apart where a long silence between them is left out.
std::vector<SpeechRegion> Pieces(Parts parts) {
  std::vector<SpeechRegion> pieces{parts.front()};
  for (const auto& part : parts.subspan(1)) {
    const auto silence = part.begin - pieces.back().end;
    if (silence <= kLongSilence) {
      pieces.back().end = part.end;
    } else {
      pieces.back().end += kLongSilence / 2;
      pieces.push_back({part.begin - kLongSilence / 2, part.end});
    }
  }
  return pieces;
}

int64_t Length(Parts parts) {
  int64_t length = 0;
  for (const auto& piece : Pieces(parts)) length += piece.end - piece.begin;
  return length;
}

}  // namespace

SpeechCutter::SpeechCutter(const AudioSource& audio, const SpeechRules& rules)
    : audio_(audio),
      pad_(rules.pad),
      longest_window_(rules.max_window),
      longest_part_(std::min(rules.max_window, rules.max_speech)) {}

std::vector<SpeechWindow> SpeechCutter::Cut(const SpeechSoFar& speech) {
  for (const auto& region : speech.ended) Take(region, false);
  if (speech.open) Take(*speech.open, true);
  speech_next_begin_ = speech.next_begin;
  is_complete_ = speech.is_complete;
  if (tail_ && is_complete_) EndTail(tail_->end + std::min(pad_, audio_.size() - tail_->end));
  if (tail_) CutTail(TailEnd());
  std::vector<SpeechWindow> windows;
  while (auto window = NextWindow()) windows.push_back(std::move(*window));
  return windows;
}

int64_t SpeechCutter::next_begin() const {
  if (!parts_.empty()) return parts_.front().begin;
  if (tail_) return tail_->begin;
  return speech_next_begin_ - PadBefore(speech_next_begin_);
}

bool SpeechCutter::FitIntoWindow(Parts parts) const {
  return Length(parts) <= longest_window_ && parts.back().end - parts.front().begin <= kMaxSpan;
}

size_t SpeechCutter::BestCount(Parts parts, size_t n_fitting) const {
  size_t best = n_fitting;
  int64_t longest = -1;
  for (size_t count = n_fitting; count > 0; count--) {
    if (longest >= 0 && Length(parts.first(count)) < Filled(longest_window_)) break;
    const auto silence = parts[count].begin - parts[count - 1].end;
    if (silence > longest) {
      longest = silence;
      best = count;
    }
    if (silence >= kGoodSilence) break;
  }
  return best;
}

void SpeechCutter::Take(const SpeechRegion& region, bool is_open) {
  if (tail_ && tail_->is_open) {  // it is the same region, which went on
    tail_->end = region.end;
    tail_->is_open = is_open;
  } else {
    const auto pad = PadBefore(region.begin);
    if (tail_) EndTail(tail_->end + pad);
    tail_ = Tail{region.begin - pad, region.end, is_open};
  }
  previous_end_ = region.end;
}

int64_t SpeechCutter::PadBefore(int64_t begin) const {
  return std::min(pad_, previous_end_ < 0 ? begin : (begin - previous_end_) / 2);
}

int64_t SpeechCutter::TailEnd() const {
  return tail_->is_open ? tail_->end : tail_->end + std::min(pad_, (speech_next_begin_ - tail_->end) / 2);
}

int64_t SpeechCutter::LeastPartEnd() const {
  const bool may_be_cut = tail_->is_open || tail_->end + pad_ - tail_->begin > longest_part_;
  return may_be_cut ? std::min(TailEnd(), tail_->begin + Filled(longest_part_)) : TailEnd();
}

bool SpeechCutter::IsTailSettled() const { return !tail_->is_open && speech_next_begin_ - tail_->end >= 2 * pad_; }

void SpeechCutter::CutTail(int64_t end) {
  while (end - tail_->begin > longest_part_) {
    const auto at = QuietestPlace(audio_, tail_->begin + Filled(longest_part_), tail_->begin + longest_part_);
    parts_.push_back({tail_->begin, at});
    tail_->begin = at;
  }
}

void SpeechCutter::EndTail(int64_t end) {
  CutTail(end);
  parts_.push_back({tail_->begin, end});
  tail_.reset();
}

std::optional<SpeechWindow> SpeechCutter::NextWindow() {
  auto known = parts_;
  if (tail_) known.push_back({tail_->begin, LeastPartEnd()});
  if (known.empty()) return std::nullopt;
  size_t count = 1;
  while (count < known.size() && FitIntoWindow(Parts(known).first(count + 1))) count++;
  if (count < known.size()) {
    count = BestCount(known, count);
  } else if (!is_complete_) {
    if (!IsTailSettled()) return std::nullopt;
    // All fit. The window is complete if the next region cannot fit, wherever it begins, and the silence before it is
    // long enough to end a window.
    known.push_back({speech_next_begin_ - pad_, speech_next_begin_});
    if (FitIntoWindow(known) || known[count].begin - known[count - 1].end < kGoodSilence) return std::nullopt;
  }
  SpeechWindow window(Pieces(Parts(known).first(count)));
  if (count > parts_.size()) tail_.reset();
  parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(std::min(count, parts_.size())));
  return window;
}

}  // namespace aana
