#include "sandbox/process/filter.h"

#ifdef __linux__
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <initializer_list>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>
#endif

namespace aana::sandbox {

#ifdef __linux__

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = 0;
#endif

// What running guests, compilers and the threads of this program need. All of it works on memory, on time, on the
// process itself and on descriptors that are open.
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

// What Node needs beside it, to start and to run threads and an event loop.
constexpr int kAllowedForPrograms[] = {
    SYS_execve,
    SYS_set_tid_address,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_eventfd2,
    SYS_pipe2,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_shutdown,
    SYS_getsockopt,
    SYS_getsockname,
    SYS_newfstatat,
    SYS_statx,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_faccessat,
    SYS_getcwd,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_capget,
    SYS_getppid,
    SYS_uname,
    SYS_sysinfo,
    SYS_sched_getaffinity,
    SYS_sched_getscheduler,
    SYS_sched_getparam,
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
#ifdef SYS_stat
    SYS_stat,
    SYS_lstat,
    SYS_readlink,
    SYS_access,
    SYS_arch_prctl,
#endif
#ifdef SYS_pkey_alloc
    SYS_pkey_alloc,
    SYS_pkey_free,
    SYS_pkey_mprotect,
#endif
};

// The lower half of an argument of a system call, which must equal a value, or have one or none of some bits.
struct Condition {
  enum class Test : uint8_t { kIs, kHas, kLacks };
  int argument;
  Test test;
  uint32_t value;
  bool is_upper_half = false;
};
Condition Is(int argument, uint32_t value) { return {argument, Condition::Test::kIs, value}; }
Condition Has(int argument, uint32_t bits) { return {argument, Condition::Test::kHas, bits}; }
Condition Lacks(int argument, uint32_t bits) { return {argument, Condition::Test::kLacks, bits}; }

// Refuses all system calls that no rule allows.
class Filter {
 public:
  explicit Filter(Work work) {
    Load(offsetof(seccomp_data, arch));
    Jump(BPF_JEQ, kArchitecture, 1, 0);
    Return(SECCOMP_RET_KILL_PROCESS);
    Load(offsetof(seccomp_data, nr));
    for (const int number : kAllowed) Allow(number);
    // Memory that is shared or grows by itself is not counted by RLIMIT_DATA. A compiler may make memory executable,
    // though `aana-sandbox compile` does not execute it.
    const uint32_t code = work == Work::kGuests ? PROT_EXEC : 0;
    AllowIf(SYS_mmap, {Lacks(3, MAP_SHARED | MAP_GROWSDOWN), Lacks(2, code)});
    AllowIf(SYS_mprotect, {Lacks(2, code)});
    // Only signals to this process, such as SIGABRT to itself.
    AllowIf(SYS_tgkill, {Is(0, static_cast<uint32_t>(getpid()))});
    if (work != Work::kGuests) AllowThreads();
    if (work == Work::kProgram) AllowProgram();
    Return(SECCOMP_RET_ERRNO | EPERM);
  }

  bool Install() {
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return kArchitecture != 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

 private:
  std::vector<sock_filter> code_;

  void AllowThreads() {
    // Threads, but neither processes nor namespaces. The C library uses `clone` when the kernel seems to lack `clone3`,
    // whose flags a filter cannot see.
    constexpr uint32_t kNamespaces =
        CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    AllowIf(SYS_clone, {Has(0, CLONE_THREAD), Lacks(0, kNamespaces)});
#ifdef SYS_clone3
    Jump(BPF_JEQ, SYS_clone3, 0, 1);
    Return(SECCOMP_RET_ERRNO | ENOSYS);
#endif
    Allow(SYS_sched_getaffinity);
    AllowIf(SYS_prctl, {Is(0, PR_SET_NAME)});
  }

  void AllowProgram() {
    for (const int number : kAllowedForPrograms) Allow(number);
    AllowIf(SYS_kill, {Is(0, static_cast<uint32_t>(getpid()))});
    // Files are opened for reading. Landlock says which, where the kernel has it.
    constexpr uint32_t kWriting = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
    AllowIf(SYS_openat, {Lacks(2, kWriting)});
#ifdef SYS_open
    AllowIf(SYS_open, {Lacks(1, kWriting)});
#endif
    // A descriptor must not send signals to other processes (F_SETOWN).
    for (const int command : {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL})
      AllowIf(SYS_fcntl, {Is(1, static_cast<uint32_t>(command))});
    for (const unsigned long request : {FIONBIO, FIOCLEX, FIONCLEX, FIONREAD, TCGETS})
      AllowIf(SYS_ioctl, {Is(1, static_cast<uint32_t>(request))});
    constexpr uint32_t kSetVma = 0x53564d41;
    AllowIf(SYS_prctl, {Is(0, kSetVma)});
    // Only its own limits, and only to read them.
    auto upper = Is(2, 0);
    upper.is_upper_half = true;
    AllowIf(SYS_prlimit64, {Is(0, 0), Is(2, 0), upper});
  }

  void Allow(long number) {
    Jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 1);
    Return(SECCOMP_RET_ALLOW);
  }

  // Allows the system call when all conditions hold. Otherwise the next rules decide.
  void AllowIf(long number, std::initializer_list<Condition> conditions) {
    auto left = static_cast<uint8_t>(2 * conditions.size() + 2);  // instructions until the next rule
    Jump(BPF_JEQ, static_cast<uint32_t>(number), 0, left);
    for (const auto& condition : conditions) {
      const size_t half = condition.is_upper_half ? 4 : 0;  // both architectures are little endian
      Load(offsetof(seccomp_data, args) + static_cast<size_t>(condition.argument) * 8 + half);
      left = static_cast<uint8_t>(left - 2);
      const uint8_t to_end = static_cast<uint8_t>(left - 1);
      const uint16_t test = condition.test == Condition::Test::kIs ? BPF_JEQ : BPF_JSET;
      const bool is_wanted = condition.test != Condition::Test::kLacks;
      Jump(test, condition.value, is_wanted ? 0 : to_end, is_wanted ? to_end : 0);
    }
    Return(SECCOMP_RET_ALLOW);
    Load(offsetof(seccomp_data, nr));
  }

  void Load(size_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset))); }
  void Return(uint32_t what) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, what)); }
  void Jump(uint16_t test, uint32_t value, uint8_t if_true, uint8_t if_false) {
    code_.push_back(BPF_JUMP(static_cast<uint16_t>(BPF_JMP | test | BPF_K), value, if_true, if_false));
  }
};

}  // namespace

bool FilterSystemCalls(Work work) { return Filter(work).Install(); }

#else

bool FilterSystemCalls(Work) { return false; }

#endif

}  // namespace aana::sandbox
