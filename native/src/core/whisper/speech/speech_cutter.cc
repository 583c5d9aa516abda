#include "core/whisper/speech/speech_cutter.h"

#include <algorithm>
#include <span>

#include "core/whisper/speech/quiet_place.h"
#include "core/whisper/speech/window_size.h"

namespace aana {
namespace {

// Added on each side of a region, so that soft beginnings and endings are not lost.
constexpr int64_t kPad = kSampleRate / 5;
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

bool FitIntoWindow(Parts parts) { return Length(parts) <= kWindow && parts.back().end - parts.front().begin <= kMaxSpan; }

// Returns how many of the first `n_fitting` parts form a window. More parts follow.
size_t BestCount(Parts parts, size_t n_fitting) {
  size_t best = n_fitting;
  int64_t longest = -1;
  for (size_t count = n_fitting; count > 0; count--) {
    if (longest >= 0 && Length(parts.first(count)) < kFilledWindow) break;
    const auto silence = parts[count].begin - parts[count - 1].end;
    if (silence > longest) {
      longest = silence;
      best = count;
    }
    if (silence >= kGoodSilence) break;
  }
  return best;
}

}  // namespace

std::vector<SpeechWindow> SpeechCutter::Cut(const SpeechSoFar& speech) {
  for (const auto& region : speech.ended) Take(region, false);
  if (speech.open) Take(*speech.open, true);
  speech_next_begin_ = speech.next_begin;
  is_complete_ = speech.is_complete;
  if (tail_ && is_complete_) EndTail(tail_->end + std::min(kPad, audio_.size() - tail_->end));
  if (tail_) CutTail(TailEnd());
  std::vector<SpeechWindow> windows;
  while (auto window = NextWindow()) windows.push_back(std::move(*window));
  return windows;
}

int64_t SpeechCutter::next_begin() const {
  if (!parts_.empty()) return parts_.front().begin;
  return tail_ ? tail_->begin : speech_next_begin_;
}

void SpeechCutter::Take(const SpeechRegion& region, bool is_open) {
  if (tail_ && tail_->is_open) {  // it is the same region, which went on
    tail_->end = region.end;
    tail_->is_open = is_open;
  } else {
    // The silence between two regions is shared by their paddings.
    const auto before = previous_end_ < 0 ? region.begin : (region.begin - previous_end_) / 2;
    if (tail_) EndTail(tail_->end + std::min(kPad, before));
    tail_ = Tail{region.begin - std::min(kPad, before), region.end, is_open};
  }
  previous_end_ = region.end;
}

int64_t SpeechCutter::TailEnd() const { return tail_->is_open ? tail_->end : tail_->end + std::min(kPad, (speech_next_begin_ - tail_->end) / 2); }

int64_t SpeechCutter::LeastPartEnd() const {
  const bool may_be_cut = tail_->is_open || tail_->end + kPad - tail_->begin > kWindow;
  return may_be_cut ? std::min(TailEnd(), tail_->begin + kFilledWindow) : TailEnd();
}

bool SpeechCutter::IsTailSettled() const { return !tail_->is_open && speech_next_begin_ - tail_->end >= 2 * kPad; }

void SpeechCutter::CutTail(int64_t end) {
  while (end - tail_->begin > kWindow) {
    const auto at = QuietestPlace(audio_, tail_->begin + kFilledWindow, tail_->begin + kWindow);
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
    known.push_back({speech_next_begin_ - kPad, speech_next_begin_});
    if (FitIntoWindow(known) || known[count].begin - known[count - 1].end < kGoodSilence) return std::nullopt;
  }
  SpeechWindow window(Pieces(Parts(known).first(count)));
  if (count > parts_.size()) tail_.reset();
  parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(std::min(count, parts_.size())));
  return window;
}

}  // namespace aana
