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
      nodes_.push_back({.depth = static_cast<uint16_t>(depth), .byte = static_cast<uint8_t>(piece[depth])});
    }
    auto& node = nodes_[path.back()];
    if (node.n_tokens++ == 0) node.first_token = static_cast<uint32_t>(i);
    max_depth_ = std::max(max_depth_, piece.size());
    last = piece;
  }
  close(0);
}

}  // namespace aana::llama
