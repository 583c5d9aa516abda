#include "sandbox/guest/idle_memory.h"

#include <algorithm>
#include <string_view>
#include <vector>

#ifdef __linux__
#include <charconv>
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace aana::sandbox {

#ifdef __linux__

namespace {

struct Mapping {
  uint64_t start = 0;
  uint64_t end = 0;
  std::string_view rights;
  // Device and inode. The inode is 0 without a file.
  std::string_view file;
  bool has_file = false;

  bool is_writable() const { return rights == "rw-p"; }
};

std::string_view TakeWord(std::string_view& line) {
  const size_t end = line.find(' ');
  const auto word = line.substr(0, end);
  line = end == std::string_view::npos ? "" : line.substr(end + 1);
  return word;
}

// Reads lines such as `7f00-8f00 rw-p 00000000 fe:00 5845969   /path`.
std::vector<Mapping> Parse(std::string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    auto line = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    Mapping mapping;
    auto range = TakeWord(line);
    const auto start = range.substr(0, range.find('-'));
    range.remove_prefix(std::min(start.size() + 1, range.size()));
    std::from_chars(start.data(), start.data() + start.size(), mapping.start, 16);
    std::from_chars(range.data(), range.data() + range.size(), mapping.end, 16);
    if (mapping.end <= mapping.start) continue;
    mapping.rights = TakeWord(line);
    TakeWord(line);
    const auto file = line;
    const auto device = TakeWord(line);
    const auto inode = TakeWord(line);
    mapping.file = file.substr(0, device.size() + 1 + inode.size());
    mapping.has_file = inode != "0";
    mappings.push_back(mapping);
  }
  return mappings;
}

void Release(const Mapping& mapping) {
  madvise(reinterpret_cast<void*>(mapping.start), mapping.end - mapping.start, MADV_DONTNEED);
}

}  // namespace

IdleMemory::IdleMemory() : maps_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {
  const auto text = ReadMaps();
  for (const auto& mapping : Parse(text))
    if (mapping.is_writable() && mapping.has_file) own_files_.emplace(mapping.file);
}

IdleMemory::~IdleMemory() {
  if (maps_ >= 0) close(maps_);
}

void IdleMemory::ReleaseGuests() {
  const auto text = ReadMaps();
  const auto mappings = Parse(text);
  // The memory of a guest begins as a private mapping of a file, with what the component has in it. What adjoins it on
  // both sides, up to pages without rights, is the rest of the same memory. Without its pages it is as a new guest
  // needs it: what is in the file, and zeros.
  for (size_t i = 0; i < mappings.size(); i++) {
    const auto& image = mappings[i];
    if (!image.is_writable() || !image.has_file || own_files_.contains(std::string(image.file))) continue;
    Release(image);
    const auto adjoins = [&](const Mapping& left, const Mapping& right) {
      return left.end == right.start && left.is_writable() && right.is_writable();
    };
    if (i > 0 && !mappings[i - 1].has_file && adjoins(mappings[i - 1], image)) Release(mappings[i - 1]);
    if (i + 1 < mappings.size() && !mappings[i + 1].has_file && adjoins(image, mappings[i + 1]))
      Release(mappings[i + 1]);
  }
}

void IdleMemory::ReleaseFree() { malloc_trim(0); }

std::string IdleMemory::ReadMaps() const {
  std::string text;
  if (maps_ < 0 || lseek(maps_, 0, SEEK_SET) != 0) return text;
  std::string chunk(size_t{64} << 10, '\0');
  for (ssize_t got = 0; (got = read(maps_, chunk.data(), chunk.size())) > 0;)
    text.append(chunk, 0, static_cast<size_t>(got));
  return text;
}

#else

IdleMemory::IdleMemory() = default;
IdleMemory::~IdleMemory() = default;
void IdleMemory::ReleaseGuests() {}
void IdleMemory::ReleaseFree() {}
std::string IdleMemory::ReadMaps() const { return ""; }

#endif

}  // namespace aana::sandbox
