#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/llama/model/adapter_use.h"
#include "core/llama/vision/prompt_image.h"

// Stands for llama.cpp's library where only the bookkeeping of the engine matters: which tokens of which sequence are
// computed where, with which adapter, and in which pass. Its model has no weights: the next token follows from the
// tokens before and from the adapter, in two ways.
namespace aana::fake {

constexpr int32_t kTokens = 64;
// Of these tokens, the one that follows depends on the tokens before. kEnd ends a text.
constexpr int32_t kEnd = 0;
constexpr int32_t kPlainTokens = 32;
// Of the others, the one that follows depends on the tokens before and on the passes that computed them, as the last
// bits of real logits do.

// A cell of an image has so many floats in the place of an embedding: its number in the history, its place in the
// image, how many cells and positions the image has, and whether each cell attends only to those before it.
constexpr size_t kCellFloats = 5;
// A picture whose images cannot be encoded.
constexpr int32_t kBrokenPicture = 7;
// Returns the number of a cell of an image in lists of tokens.
int32_t CellNumber(int32_t picture, size_t cell);
llama::Embeddings EmbeddingsOf(const llama::PromptImage& image, int32_t picture);

struct Setup {
  bool is_recurrent = false;
  bool has_image_positions = false;  // the position of a cell of an image has four numbers
  int32_t n_window = 0;              // tokens to which a token attends; 0: all before it
  double abandoned = 0;              // probability that a decode is abandoned in the middle
  double failing = 0;                // probability that it fails
  uint32_t seed = 1;
};
void Set(const Setup& setup);

// What the library was asked that it would refuse or end the process for.
struct Misuse : std::logic_error {
  using std::logic_error::logic_error;
};
// The first misuse, because the engine handles exceptions of a decode; empty: none.
const std::string& FirstMisuse();
// Decodes that failed on purpose since Set.
int NFailures();

// Images of which a part was taken back since Set.
int NImagesTakenBack();

// Sequences whose windows were taken back too far since Set.
int NWindowsLost();

// What the cache of the one context holds: cells, and sequences that end in the middle of an image.
size_t NUsedCells();
size_t NEndingInImage();

// Threads that asked for the text of a token since Set: those that choose tokens.
size_t NThreads();

// The time. A decode moves it on by a part for each token, and by another one for the pass.
extern std::atomic<std::chrono::nanoseconds> now;
void Advance(std::chrono::nanoseconds time);

// Returns the text of `n` tokens that follow a prompt which is computed alone with `adapter`: `chunks` gives the number
// of tokens of each pass. Fewer when kEnd comes.
std::vector<int32_t> Continue(std::span<const int32_t> prompt, std::span<const size_t> chunks, size_t n,
                              bool depends_on_passes, const llama::AdapterUse& adapter);

}  // namespace aana::fake
