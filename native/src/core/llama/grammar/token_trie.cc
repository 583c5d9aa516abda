#include "core/llama/grammar/token_trie.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace aana::llama {

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
      nodes_.push_back({.first_token = static_cast<uint32_t>(i), .depth = static_cast<uint16_t>(depth), .byte = static_cast<uint8_t>(piece[depth])});
    }
    nodes_[path.back()].n_tokens++;
    max_depth_ = std::max(max_depth_, piece.size());
    last = piece;
  }
  close(0);
  FindPlainHeights();
}

void TokenTrie::FindPlainHeights() {
  std::vector<uint32_t> parents;  // of the node at hand, the nearest last
  std::vector<uint32_t> parent_of(nodes_.size());
  for (uint32_t i = 0; i < nodes_.size(); i++) {
    parents.resize(nodes_[i].depth);
    parent_of[i] = parents.empty() ? i : parents.back();
    parents.push_back(i);
  }
  // Nodes below a node come after it.
  for (auto i = static_cast<uint32_t>(nodes_.size()); i-- > 0;) {
    if (parent_of[i] == i) continue;
    auto& height = nodes_[parent_of[i]].plain_height;
    const auto below = nodes_[i].plain_height;
    // A height that has no number counts as not plain, too.
    if (!IsPlain(nodes_[i].byte) || below >= kNotPlain - 1) height = kNotPlain;
    else height = std::max(height, static_cast<uint8_t>(below + 1));
  }
}

}  // namespace aana::llama
