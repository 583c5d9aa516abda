#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "core/llama/grammar/grammar.h"

namespace aana::llama {

// The grammars that were used last, by their texts: most requests have one of a few, and its states are found already.
// One thread.
class GrammarCache {
 public:
  GrammarCache(size_t max_grammars, size_t max_bytes) : max_grammars_(max_grammars), max_bytes_(max_bytes) {}

  // Only calls with the same `cache_key` share a grammar, or the sources of different grammars. `quotable` may be null.
  // Throws SamplingError (fault kCaller) for a grammar that cannot be compiled.
  std::shared_ptr<const Grammar> Find(const std::string& cache_key, const std::string& gbnf, const std::string& root,
                                      const FindToken& find_token, const Quotable* quotable = nullptr);

  size_t size() const { return entries_.size(); }

 private:
  std::shared_ptr<const QuoteSources> FindSources(const std::string& cache_key, const Quotable* quotable) const;

  struct Entry {
    std::string cache_key;
    std::string gbnf;
    std::string root;
    std::shared_ptr<const Grammar> grammar;
  };

  size_t max_grammars_;
  size_t max_bytes_;
  std::list<Entry> entries_;  // the last used first
};

}  // namespace aana::llama
