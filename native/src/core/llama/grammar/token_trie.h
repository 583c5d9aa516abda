#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/llama/sampling/params.h"

namespace aana::llama {

// The texts of a vocabulary, as a tree by their bytes, so that a common beginning of many tokens is read once.
class TokenTrie {
 public:
  // The text of each token by its number. A token without a text is in no node.
  explicit TokenTrie(std::vector<std::string> pieces);

  // In the order in which a depth-first walk enters them.
  struct Node {
    uint32_t behind = 0;       // the first node that is not below this one
    uint32_t first_token = 0;  // in the order of the texts: the first one at this node or below it
    uint32_t n_tokens = 0;     // whose text ends at the node
    uint16_t depth = 0;        // 0: a first byte
    uint8_t byte = 0;
    // The most characters that a text has below the node, if the node ends a character and all characters below are
    // plain; otherwise kNotPlain. The last character may be the beginning of one.
    uint8_t plain_height = 0;
  };
  static constexpr uint8_t kNotPlain = 255;
  // Plain characters mean only themselves in a JSON string, and most tokens consist of them: these bytes, and all
  // characters of several bytes.
  static constexpr bool IsPlain(uint8_t byte) { return byte >= 0x20 && byte <= 0x7E && byte != '"' && byte != '\\'; }

  std::span<const Node> nodes() const { return nodes_; }
  // The tokens whose text ends at the node.
  std::span<const TokenId> TokensAt(const Node& node) const {
    return std::span(tokens_).subspan(node.first_token, node.n_tokens);
  }
  // The tokens whose text ends at the node or below it.
  std::span<const TokenId> TokensFrom(const Node& node) const {
    const size_t end = node.behind < nodes_.size() ? nodes_[node.behind].first_token : tokens_.size();
    return std::span(tokens_).subspan(node.first_token, end - node.first_token);
  }
  size_t max_depth() const { return max_depth_; }

  size_t n_vocab() const { return pieces_.size(); }
  std::string_view PieceOf(TokenId token) const { return pieces_[static_cast<size_t>(token)]; }

 private:
  void FindPlainHeights();

  std::vector<std::string> pieces_;
  std::vector<Node> nodes_;
  std::vector<TokenId> tokens_;  // by their texts
  size_t max_depth_ = 0;
};

}  // namespace aana::llama
