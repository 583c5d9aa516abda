#include "core/llama/grammar/token_trie.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace aana::llama {
namespace {

// Where a text in UTF-8 is in a character.
class Utf8Place {
 public:
  bool IsBetween() const { return n_missing_ == 0; }
  bool IsValid() const { return n_missing_ >= 0; }

  Utf8Place After(uint8_t byte) const {
    if (n_missing_ < 0) return *this;
    if (n_missing_ > 0) return least_ <= byte && byte <= most_ ? Utf8Place(n_missing_ - 1) : Utf8Place(-1);
    if (byte < 0x80) return Utf8Place(0);
    if (byte >= 0xC2 && byte <= 0xDF) return Utf8Place(1);
    // The shortest form of each character, and no surrogates.
    if (byte == 0xE0) return Utf8Place(2, 0xA0, 0xBF);
    if (byte == 0xED) return Utf8Place(2, 0x80, 0x9F);
    if (byte >= 0xE1 && byte <= 0xEF) return Utf8Place(2);
    if (byte == 0xF0) return Utf8Place(3, 0x90, 0xBF);
    if (byte == 0xF4) return Utf8Place(3, 0x80, 0x8F);
    if (byte >= 0xF1 && byte <= 0xF3) return Utf8Place(3);
    return Utf8Place(-1);
  }

  Utf8Place() = default;

 private:
  explicit Utf8Place(int n_missing, uint8_t least = 0x80, uint8_t most = 0xBF)
      : n_missing_(static_cast<int8_t>(n_missing)), least_(least), most_(most) {}

  int8_t n_missing_ = 0;  // bytes of the character; -1: this is no UTF-8
  uint8_t least_ = 0x80;  // the next byte
  uint8_t most_ = 0xBF;
};

}  // namespace

TokenTrie::TokenTrie(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {
  constexpr size_t kMaxPiece = std::numeric_limits<uint16_t>::max();
  for (TokenId token = 0; const auto& piece : pieces_) {
    if (!piece.empty() && piece.size() <= kMaxPiece) tokens_.push_back(token);
    token++;
  }
  std::ranges::sort(tokens_, {}, [this](TokenId token) { return std::pair(PieceOf(token), token); });
  std::vector<uint32_t> path;  // the nodes of the piece before
  const auto close = [&](size_t n_left) {
    for (; path.size() > n_left; path.pop_back()) nodes_[path.back()].behind = static_cast<uint32_t>(nodes_.size());
  };
  std::string_view last;
  for (size_t i = 0; i < tokens_.size(); i++) {
    const auto piece = PieceOf(tokens_[i]);
    const auto n_common = static_cast<size_t>(std::ranges::mismatch(last, piece).in1 - last.begin());
    close(n_common);
    for (size_t depth = n_common; depth < piece.size(); depth++) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({.first_token = static_cast<uint32_t>(i),
                        .depth = static_cast<uint16_t>(depth),
                        .byte = static_cast<uint8_t>(piece[depth])});
    }
    nodes_[path.back()].n_tokens++;
    max_depth_ = std::max(max_depth_, piece.size());
    last = piece;
  }
  close(0);
  FindPlainHeights();
}

void TokenTrie::FindPlainHeights() {
  std::vector<uint32_t> path;  // the node at hand last
  std::vector<uint32_t> parents(nodes_.size());
  std::vector<Utf8Place> places(nodes_.size());
  for (uint32_t i = 0; i < nodes_.size(); i++) {
    path.resize(nodes_[i].depth);
    places[i] = (path.empty() ? Utf8Place() : places[path.back()]).After(nodes_[i].byte);
    parents[i] = path.empty() ? i : path.back();
    path.push_back(i);
  }
  // Nodes below a node come after it. Each passes on how many characters begin below its parent.
  std::vector<uint8_t> heights(nodes_.size());
  for (auto i = static_cast<uint32_t>(nodes_.size()); i-- > 0;) {
    auto& node = nodes_[i];
    node.plain_height = places[i].IsBetween() ? heights[i] : kNotPlain;
    if (node.depth == 0) continue;
    const bool is_begin = places[parents[i]].IsBetween();
    const bool is_plain = node.byte < 0x80 ? is_begin && IsPlain(node.byte) : places[i].IsValid();
    const auto below = heights[i];
    auto& height = heights[parents[i]];
    // A height that has no number counts as not plain, too.
    if (!is_plain || below >= kNotPlain - 1)
      height = kNotPlain;
    else
      height = std::max(height, static_cast<uint8_t>(below + (is_begin ? 1 : 0)));
  }
}

}  // namespace aana::llama
