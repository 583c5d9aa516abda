#include "core/llama/grammar/grammar_cache.h"

#include <algorithm>

namespace aana::llama {

std::shared_ptr<const Grammar> GrammarCache::Find(const std::string& cache_key, const std::string& gbnf,
                                                  const std::string& root, const FindToken& find_token,
                                                  const Quotable* quotable) {
  const auto quotes = FindSources(cache_key, quotable);
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.cache_key == cache_key && entry.gbnf == gbnf && entry.root == root &&
           entry.grammar->automaton().quotes() == quotes;
  });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().grammar;
  }
  auto grammar = std::make_shared<const Grammar>(gbnf, root, find_token, quotes);
  entries_.push_front({cache_key, gbnf, root, grammar});
  size_t n_bytes = 0;
  size_t n_kept = 0;
  for (const auto& entry : entries_) {
    n_bytes += entry.gbnf.size() + entry.grammar->n_bytes();
    if (n_kept == max_grammars_ || (n_kept > 0 && n_bytes > max_bytes_)) break;
    n_kept++;
  }
  entries_.resize(n_kept);
  return grammar;
}

std::shared_ptr<const QuoteSources> GrammarCache::FindSources(const std::string& cache_key,
                                                              const Quotable* quotable) const {
  if (!quotable) return nullptr;
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    const auto& quotes = entry.grammar->automaton().quotes();
    return entry.cache_key == cache_key && quotes && quotes->IsOf(*quotable);
  });
  return found != entries_.end() ? found->grammar->automaton().quotes()
                                 : std::make_shared<const QuoteSources>(*quotable);
}

}  // namespace aana::llama
