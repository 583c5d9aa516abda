#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "core/llama/prompt/prompt.h"

namespace aana::llama {

// Returns the number of tokens of a dialog. It need not be exact for one that is far too long.
using CountTokens = std::function<size_t(const Dialog&)>;

struct ShortenedDialog {
  Dialog dialog;
  size_t n_dropped = 0;  // messages
};

// Makes a dialog that is too long fit into `n_most` tokens. Drops the oldest turns behind the system messages first. A
// turn is a message of the user with everything up to the next one, so calls of tools stay with their results. Of the
// last turn, which stays, the oldest steps behind its question are dropped next, where a step is an answer with the
// results of its calls. The last step stays. Then the middles of the longest texts are cut. Returns nothing when the
// rest is still too long.
std::optional<ShortenedDialog> Shorten(const Dialog& dialog, size_t n_most, const CountTokens& count);

}  // namespace aana::llama
