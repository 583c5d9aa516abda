#pragma once

#include <algorithm>
#include <cstddef>

namespace aana::llama {

// How many tokens to guess for a sequence. A wrong guess costs computing, so the number follows the guesses that came
// true: it grows after a guess that was right as a whole, shrinks after another one, and after several wrong guesses in
// a row nothing is guessed for a while.
class GuessLength {
 public:
  // At most `n_most` tokens are guessed at a time.
  explicit GuessLength(size_t n_most) : n_most_(n_most), n_next_(std::min(n_most, kBegin)) {}

  // Returns the number for the next step; 0 in a pause.
  size_t Next() {
    if (n_paused_ == 0) return n_next_;
    n_paused_--;
    return 0;
  }
  // How many of the guessed tokens came true.
  void Learn(size_t n_guessed, size_t n_accepted) {
    if (n_guessed == 0) return;
    if (n_accepted == n_guessed) {
      n_wrong_ = 0;
      n_next_ = std::min(2 * n_next_, n_most_);
      return;
    }
    n_next_ = std::max<size_t>(n_accepted, 1);
    n_wrong_ = n_accepted == 0 ? n_wrong_ + 1 : 0;
    if (n_wrong_ < kMostWrong) return;
    n_wrong_ = 0;
    n_paused_ = kPauseSteps;
  }

 private:
  static constexpr size_t kBegin = 2;   // tokens of the first guess
  static constexpr int kMostWrong = 3;  // guesses in a row
  static constexpr int kPauseSteps = 16;

  size_t n_most_;
  size_t n_next_;
  int n_wrong_ = 0;
  int n_paused_ = 0;
};

}  // namespace aana::llama
