#pragma once

#include <cstdint>
#include <vector>

namespace aana::llama {

// Returns the places of a text in the order of what follows them, as the symbols' numbers compare; a text comes before
// the texts that it begins. The symbols are 0 to n_symbols - 1. Takes linear time, whatever the text is.
std::vector<int32_t> SortSuffixes(const std::vector<int32_t>& text, int32_t n_symbols);

}  // namespace aana::llama
