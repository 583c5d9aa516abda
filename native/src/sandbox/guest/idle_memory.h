#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace aana::sandbox {

// Gives memory back that the library keeps for the next guests, and that allocators keep. The library itself gives it
// back only when a guest ends in a pool without warm memory.
class IdleMemory {
 public:
  // Made after code was loaded, before the process is confined and before there are guests.
  IdleMemory();
  ~IdleMemory();
  IdleMemory(const IdleMemory&) = delete;
  IdleMemory& operator=(const IdleMemory&) = delete;

  // No guest may exist or be made meanwhile.
  void ReleaseGuests();
  // Gives back what allocators keep.
  static void ReleaseFree();

 private:
  // The table of this process' mappings. It stays readable under confinement. -1 without one.
  int maps_ = -1;
  // The files of writable mappings that are none of guests: variables of this program and its libraries.
  std::set<std::string> own_files_;

  std::string ReadMaps() const;
};

}  // namespace aana::sandbox
