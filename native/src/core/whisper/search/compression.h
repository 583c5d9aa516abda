#pragma once

#include <string_view>

namespace aana {

// Returns how many times as long the text is as its compressed form, to tell texts that repeat themselves: about what
// zlib's default level reaches, by the same search for repetitions and the lengths of its codes. 0 for an empty text.
double CompressionRatio(std::string_view text);

}  // namespace aana
