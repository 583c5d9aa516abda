#include "sandbox/process/landlock.h"

#ifdef __linux__
#include <cstdint>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace aana::sandbox {

#ifdef __linux__

namespace {

// Headers of this kernel interface are often older than the kernel.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
struct Ruleset {
  uint64_t files;
  uint64_t network;
  uint64_t scoped;
};
constexpr int kPathBeneath = 1;
struct [[gnu::packed]] PathBeneath {
  uint64_t allowed;
  int32_t parent;
};
constexpr uint64_t kExecute = 1 << 0;
constexpr uint64_t kReadFile = 1 << 2;
constexpr uint64_t kReadFolder = 1 << 3;

void Allow(int ruleset, const Readable& readable) {
  const int opened = open(readable.path.c_str(), O_PATH | O_CLOEXEC);
  if (opened < 0) return;
  struct stat found{};
  fstat(opened, &found);
  const uint64_t more = S_ISDIR(found.st_mode) ? kReadFolder : readable.is_program ? kExecute : 0;
  const PathBeneath rule{kReadFile | more, opened};
  syscall(kAddRule, ruleset, kPathBeneath, &rule, 0);
  close(opened);
}

}  // namespace

int RestrictWithLandlock(std::span<const Readable> readable) {
  constexpr unsigned kVersion = 1;
  const long version = syscall(kCreateRuleset, nullptr, 0, kVersion);
  if (version < 1) return 0;
  constexpr int kFileRights[] = {13, 14, 15, 15, 16};  // by version
  const int rights = kFileRights[version > 5 ? 4 : version - 1];
  const Ruleset ruleset{(uint64_t{1} << rights) - 1, version >= 4 ? 3U : 0U, version >= 6 ? 3U : 0U};
  const size_t size = version >= 6 ? sizeof ruleset : version >= 4 ? 16 : 8;
  const int made = static_cast<int>(syscall(kCreateRuleset, &ruleset, size, 0));
  if (made < 0) return 0;
  for (const auto& one : readable) Allow(made, one);
  const bool is_restricted = syscall(kRestrictSelf, made, 0) == 0;
  close(made);
  return is_restricted ? static_cast<int>(version) : 0;
}

#else

int RestrictWithLandlock(std::span<const Readable>) { return 0; }

#endif

}  // namespace aana::sandbox
