#include "core/llama/prompt_cache/state_parts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace aana::llama {
namespace {

constexpr uint32_t kStateMagic = 0xaf143cd8;
// Of a token: its position, the number of its sequences, their ids. Some models have three numbers more.
constexpr std::array<size_t, 2> kCellBytes{12, 24};

template <class Number>
uint8_t* Put(uint8_t* to, Number number) {
  std::memcpy(to, &number, sizeof number);
  return to + sizeof number;
}

uint8_t* Put(uint8_t* to, std::span<const uint8_t> bytes) { return std::ranges::copy(bytes, to).out; }

}  // namespace

// Takes numbers from the beginning of bytes.
class StateParts::Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  std::span<const uint8_t> rest() const { return bytes_; }
  bool has_failed() const { return has_failed_; }

  void Fail() {
    has_failed_ = true;
    bytes_ = {};
  }

  // Takes `n` times `n_bytes`. Empty, and nothing can be taken any more, when there are fewer.
  std::span<const uint8_t> Take(size_t n, size_t n_bytes) {
    if (n_bytes > 0 && n > bytes_.size() / n_bytes) {
      Fail();
      return {};
    }
    const auto taken = bytes_.first(n * n_bytes);
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

  // 0 when there is none.
  template <class Number>
  Number Take() {
    Number number{};
    const auto bytes = Take(1, sizeof number);
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }

 private:
  std::span<const uint8_t> bytes_;
  bool has_failed_ = false;
};

std::optional<StateParts> StateParts::Of(std::span<const uint8_t> state, size_t n_tokens, size_t first) {
  Reader reader(state);
  const auto magic = reader.Take<uint32_t>();
  reader.Take<llama_seq_id>();
  const auto n_caches = reader.Take<uint32_t>();
  // The other caches have no tokens.
  uint32_t n_before = 0;
  uint32_t n_cells = 0;
  while (n_before < n_caches && !reader.has_failed() && (n_cells = reader.Take<uint32_t>()) == 0) n_before++;
  if (magic != kStateMagic || n_cells == 0 || n_cells != n_tokens) return std::nullopt;
  const size_t n_behind = (n_caches - n_before - 1) * sizeof(uint32_t);
  for (const size_t n_bytes : kCellBytes) {
    if (auto parts = OfCells(reader, n_tokens, first, n_bytes, n_behind)) return parts;
  }
  return std::nullopt;
}

std::optional<StateParts> StateParts::OfCells(Reader reader, size_t n_tokens, size_t first, size_t n_cell_bytes,
                                              size_t n_behind) {
  StateParts parts;
  const auto begin = [&] { return reader.rest().data(); };
  const auto add_plane = [&](const uint8_t* head, size_t n_rows, size_t n_bytes) {
    if (reader.has_failed()) return;
    const std::span<const uint8_t> before(head, begin());
    const auto bytes = reader.Take(n_tokens, n_rows * n_bytes);
    // Rows without bytes may be any number.
    if (bytes.empty()) return reader.Fail();
    parts.planes_.push_back({before, n_rows, n_bytes, bytes.data()});
  };

  add_plane(begin(), 1, n_cell_bytes);
  if (reader.has_failed()) return std::nullopt;
  parts.cells_.assign(n_tokens, SIZE_MAX);
  Reader cells({parts.planes_[0].bytes, n_tokens * n_cell_bytes});
  for (size_t cell = 0; cell < n_tokens; cell++) {
    const auto token = static_cast<size_t>(cells.Take<llama_pos>()) - first;
    const auto n_sequences = cells.Take<uint32_t>();
    cells.Take(1, n_cell_bytes - sizeof(llama_pos) - sizeof n_sequences);
    if (token >= n_tokens || n_sequences != 1 || parts.cells_[token] != SIZE_MAX) return std::nullopt;
    parts.cells_[token] = cell;
  }

  const auto* head = begin();
  const bool are_values_turned = reader.Take<uint32_t>() != 0;
  const auto n_layers = reader.Take<uint32_t>();
  for (uint32_t layer = 0; !reader.has_failed() && reader.rest().size() > n_behind; layer++) {
    reader.Take<int32_t>();  // the type
    if (layer >= n_layers && are_values_turned) {
      const auto n_bytes = reader.Take<uint32_t>();
      add_plane(head, reader.Take<uint32_t>(), n_bytes);
    } else {
      add_plane(head, 1, reader.Take<uint64_t>());
    }
    head = begin();
  }
  const bool has_others = std::ranges::any_of(reader.rest(), [](uint8_t byte) { return byte != 0; });
  // Some models have no values, which follow from the keys.
  const size_t n_planes = parts.planes_.size() - 1;
  const bool are_all_there = n_layers > 0 && (n_planes == n_layers || n_planes == size_t{2} * n_layers);
  if (reader.has_failed() || reader.rest().size() != n_behind || has_others || !are_all_there) return std::nullopt;
  return parts;
}

bool StateParts::HasFormOf(const StateParts& other) const {
  return std::ranges::equal(planes_, other.planes_, [](const Plane& one, const Plane& two) {
    return std::ranges::equal(one.head, two.head) && one.n_rows == two.n_rows && one.n_bytes == two.n_bytes;
  });
}

uint8_t* StateParts::CopyRow(const Plane& plane, size_t row, size_t at, size_t n, uint8_t* to) const {
  const auto* from = plane.bytes + row * cells_.size() * plane.n_bytes;
  for (size_t token = at; token < at + n;) {
    size_t n_together = 1;
    while (token + n_together < at + n && cells_[token + n_together] == cells_[token] + n_together) n_together++;
    to = Put(to, std::span(from + cells_[token] * plane.n_bytes, n_together * plane.n_bytes));
    token += n_together;
  }
  return to;
}

StateBytes StateParts::Write(std::span<const Range> ranges, uint32_t n_caches) {
  const auto& planes = ranges[0].of->planes_;
  uint32_t n_tokens = 0;
  for (const auto& range : ranges) n_tokens += static_cast<uint32_t>(range.n);
  const size_t n_fixed = sizeof kStateMagic + sizeof(llama_seq_id) + sizeof n_caches + n_caches * sizeof n_tokens;
  StateBytes state(std::accumulate(planes.begin(), planes.end(), n_fixed, [&](size_t n, const Plane& plane) {
    return n + plane.head.size() + n_tokens * plane.n_rows * plane.n_bytes;
  }));
  auto* to = Put(state.bytes.get(), kStateMagic);
  to = Put(to, llama_seq_id{0});
  to = Put(to, n_caches);
  to = Put(to, n_tokens);
  for (size_t i = 0; i < planes.size(); i++) {
    to = Put(to, planes[i].head);
    for (size_t row = 0; row < planes[i].n_rows; row++) {
      for (const auto& range : ranges) to = range.of->CopyRow(range.of->planes_[i], row, range.at, range.n, to);
    }
  }
  for (uint32_t cache = 1; cache < n_caches; cache++) to = Put(to, uint32_t{0});
  return state;
}

StateBytes StateParts::Cut(size_t at, size_t n) const {
  const Range range{this, at, n};
  return Write({&range, 1}, 1);
}

StateBytes StateParts::Join(std::span<const StateParts> parts, uint32_t n_caches) {
  std::vector<Range> ranges;
  for (const auto& part : parts) {
    if (!part.HasFormOf(parts[0])) return {};
    ranges.push_back({&part, 0, part.cells_.size()});
  }
  return ranges.empty() ? StateBytes() : Write(ranges, n_caches);
}

}  // namespace aana::llama
