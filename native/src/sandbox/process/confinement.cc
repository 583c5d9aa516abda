#include "sandbox/process/confinement.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <vector>
#endif

namespace aana::sandbox {

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

// Headers of this kernel interface are often older than the kernel.
constexpr long kCreateRuleset = 444;
constexpr long kRestrictSelf = 446;
struct Ruleset {
  uint64_t files;
  uint64_t network;
  uint64_t scoped;
};

// Takes all rights that Landlock knows and grants none. Returns the version of its interface.
int RestrictWithLandlock() {
  constexpr unsigned kVersion = 1;
  const long version = syscall(kCreateRuleset, nullptr, 0, kVersion);
  if (version < 1) return 0;
  constexpr int kFileRights[] = {13, 14, 15, 15, 16};  // by version
  const int rights = kFileRights[version > 5 ? 4 : version - 1];
  const Ruleset ruleset{(uint64_t{1} << rights) - 1, version >= 4 ? 3U : 0U, version >= 6 ? 3U : 0U};
  const size_t size = version >= 6 ? sizeof ruleset : version >= 4 ? 16 : 8;
  const long made = syscall(kCreateRuleset, &ruleset, size, 0);
  if (made < 0) return 0;
  const bool is_restricted = syscall(kRestrictSelf, made, 0) == 0;
  close(static_cast<int>(made));
  return is_restricted ? static_cast<int>(version) : 0;
}

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = 0;
#endif

// What a running guest and the threads of this program need. All of it works on memory, on time, on the process itself
// and on descriptors that are open.
constexpr int kAllowed[] = {
    SYS_read,
    SYS_write,
    SYS_close,
    SYS_ppoll,
    SYS_munmap,
    SYS_madvise,
    SYS_mremap,
    SYS_brk,
    SYS_futex,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_getrandom,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_rt_sigaction,
    SYS_sigaltstack,
    SYS_exit,
    SYS_exit_group,
    SYS_getpid,
    SYS_gettid,
    SYS_sched_yield,
    SYS_set_robust_list,
    SYS_restart_syscall,
    SYS_getrusage,
    SYS_lseek,
    SYS_fstat,
    SYS_membarrier,
#ifdef SYS_poll
    SYS_poll,
#endif
#ifdef SYS_rseq
    SYS_rseq,
#endif
};

constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

class Filter {
 public:
  explicit Filter(Code code) {
    Load(offsetof(seccomp_data, arch));
    Jump(BPF_JEQ, kArchitecture, 1, 0);
    Return(SECCOMP_RET_KILL_PROCESS);
    Load(offsetof(seccomp_data, nr));
    for (const int number : kAllowed) {
      Jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 1);
      Return(SECCOMP_RET_ALLOW);
    }
    const uint32_t refused = code == Code::kFixed ? PROT_EXEC : 0;
    // Memory that is shared or grows by itself is not counted by RLIMIT_DATA.
    RefuseWith(SYS_mmap, 3, MAP_SHARED | MAP_GROWSDOWN);
    AllowWithout(SYS_mmap, 2, refused);
    AllowWithout(SYS_mprotect, 2, refused);
    // Only signals to this process, such as SIGABRT to itself.
    AllowWith(SYS_tgkill, 0, static_cast<uint32_t>(getpid()));
    Return(kRefuse);
  }

  bool Install() {
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return kArchitecture != 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

 private:
  std::vector<sock_filter> code_;

  void Load(size_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset))); }
  void Return(uint32_t what) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, what)); }
  void Jump(uint16_t test, uint32_t value, uint8_t if_true, uint8_t if_false) {
    code_.push_back(BPF_JUMP(static_cast<uint16_t>(BPF_JMP | test | BPF_K), value, if_true, if_false));
  }
  static size_t Argument(int index) { return offsetof(seccomp_data, args) + static_cast<size_t>(index) * 8; }
  void AllowWithout(long number, int argument, uint32_t bits) {
    Jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 4);
    Load(Argument(argument));
    Jump(BPF_JSET, bits, 0, 1);
    Return(kRefuse);
    Return(SECCOMP_RET_ALLOW);
  }
  // Leaves calls without these bits to what follows.
  void RefuseWith(long number, int argument, uint32_t bits) {
    Jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 4);
    Load(Argument(argument));
    Jump(BPF_JSET, bits, 0, 1);
    Return(kRefuse);
    Load(offsetof(seccomp_data, nr));
  }
  void AllowWith(long number, int argument, uint32_t value) {
    Jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 4);
    Load(Argument(argument));
    Jump(BPF_JEQ, value, 1, 0);
    Return(kRefuse);
    Return(SECCOMP_RET_ALLOW);
  }
};

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

Confinement ConfineProcess(uint64_t data_bytes) {
  Confinement confinement;
  OfferToOutOfMemory();
  confinement.has_memory_limit = LimitMemory(data_bytes);
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_NOFILE, 128);
  confinement.has_no_new_privileges = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  // Other processes of the user may not read its memory, and it is no target of ptrace.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  confinement.landlock = RestrictWithLandlock();
  return confinement;
}

void FilterSystemCalls(Confinement& confinement, Code code) { confinement.has_filter = Filter(code).Install(); }

#else

void DropInheritance(int first) {
  for (int descriptor = first; descriptor < 1024; descriptor++) close(descriptor);
}

Confinement ConfineProcess(uint64_t) {
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_NOFILE, 128);
  return {};
}

void FilterSystemCalls(Confinement&, Code) {}

#endif

}  // namespace aana::sandbox
