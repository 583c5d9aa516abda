#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace aana::llama {

// Copies of pixels or samples that are in use. Requests with the same image share one: several answers to a dialog are
// requests of their own. For one thread; the copies can be used and freed on any.
template <class Value>
class SharedCopies {
 public:
  using Copy = std::shared_ptr<const std::vector<Value>>;
  using Digest = std::array<uint32_t, 8>;

  // Returns a copy of the values, whose SHA-256 is `digest`.
  Copy Of(const Digest& digest, const Value* values, size_t n_values) {
    std::erase_if(in_use_, [](const auto& entry) { return entry.second.expired(); });
    auto& kept = in_use_[digest];
    if (auto copy = kept.lock(); copy && copy->size() == n_values) return copy;
    auto copy = std::make_shared<const std::vector<Value>>(values, values + n_values);
    kept = copy;
    return copy;
  }

 private:
  std::map<Digest, std::weak_ptr<const std::vector<Value>>> in_use_;
};

}  // namespace aana::llama
