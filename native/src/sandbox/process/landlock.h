#pragma once

#include <span>
#include <string>

namespace aana::sandbox {

// A file, or a folder with all that is below it, that a process may still read.
struct Readable {
  std::string path;
  // Whether the file may also be executed.
  bool is_program = false;
};

// Takes all rights that Landlock knows from this thread and those that it starts: files, TCP, and signals to others.
// Only `readable` remains; what is missing there is left out. Returns the version of Landlock's interface, 0 when the
// kernel lacks it.
int RestrictWithLandlock(std::span<const Readable> readable);

}  // namespace aana::sandbox
