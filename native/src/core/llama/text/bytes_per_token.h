#pragma once

#include <cstddef>

namespace aana::llama {

// Of a text with more bytes than this for each token of the limit, only a part is read. English has about 4 bytes in a
// token, code less.
constexpr size_t kBytesPerToken = 16;

}  // namespace aana::llama
