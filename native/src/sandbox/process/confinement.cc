#include "sandbox/process/confinement.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

namespace aana::sandbox {

std::string JsonOf(const Confinement& confinement) {
  const auto text = [](bool is) { return is ? "true" : "false"; };
  return std::string("{\"no-new-privileges\":") + text(confinement.has_no_new_privileges) +
         ",\"seccomp\":" + text(confinement.has_filter) + ",\"landlock\":" + std::to_string(confinement.landlock) +
         ",\"memory-limit\":" + text(confinement.has_memory_limit) + "}";
}

namespace {

void Limit(decltype(RLIMIT_CORE) resource, rlim_t bytes) {
  rlimit limit{};
  getrlimit(resource, &limit);
  if (limit.rlim_max != RLIM_INFINITY && bytes > limit.rlim_max) bytes = limit.rlim_max;
  limit = {bytes, bytes};
  setrlimit(resource, &limit);
}

#ifdef __linux__

// Private writable memory, which RLIMIT_DATA counts. 0 when the kernel does not say.
uint64_t DataBytes() {
  uint64_t kib = 0;
  if (FILE* status = fopen("/proc/self/status", "r")) {
    char line[256];
    while (fgets(line, sizeof line, status))
      if (strncmp(line, "VmData:", 7) == 0) kib = strtoull(line + 7, nullptr, 10);
    fclose(status);
  }
  return kib << 10;
}

bool LimitMemory(uint64_t more) {
  const uint64_t now = DataBytes();
  if (now == 0) return false;
  Limit(RLIMIT_DATA, now + more);
  return true;
}

// When the machine has no memory left, the kernel ends this process before its host.
void OfferToOutOfMemory() {
  if (FILE* score = fopen("/proc/self/oom_score_adj", "w")) {
    fputs("500", score);
    fclose(score);
  }
}

// An administrator's rights are of no use to guests. Without new privileges, no program that is executed gets them
// back.
void DropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  syscall(SYS_capset, &header, none);
}

#endif

}  // namespace

#ifdef __linux__

void DropInheritance(int first) {
  clearenv();
#ifdef SYS_close_range
  if (syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0) == 0) return;
#endif
  // A kernel before 5.9 does not have the call.
  for (int descriptor = first; descriptor < 1024; descriptor++) close(descriptor);
}

Confinement ConfineProcess(uint64_t data_bytes, uint32_t descriptors, std::span<const Readable> readable) {
  Confinement confinement;
  OfferToOutOfMemory();
  confinement.has_memory_limit = LimitMemory(data_bytes);
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_NOFILE, descriptors);
  confinement.has_no_new_privileges = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  // Other processes of the user may not read its memory, and it is no target of ptrace.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  confinement.landlock = RestrictWithLandlock(readable);
  DropCapabilities();
  return confinement;
}

#else

void DropInheritance(int first) {
  for (int descriptor = first; descriptor < 1024; descriptor++) close(descriptor);
}

Confinement ConfineProcess(uint64_t, uint32_t descriptors, std::span<const Readable>) {
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_NOFILE, descriptors);
  return {};
}

#endif

}  // namespace aana::sandbox
