// Stands in for the sandbox: it confines itself in the same way and tries what a guest that has taken over the process
// would try. With an argument it is a program that `aana-sandbox confine` has started. Prints `ok  title` or
// `FAIL title: reason` for each.
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sandbox/process/confinement.h"
#include "sandbox/process/filter.h"

extern char** environ;

namespace {

bool has_failed = false;

void Say(bool is_ok, const char* title, const char* reason) {
  if (is_ok) {
    printf("ok  %s\n", title);
  } else {
    printf("FAIL %s: %s\n", title, reason);
    has_failed = true;
  }
}

// The system call must fail because it is not allowed.
void Refused(const char* title, const std::function<long()>& call) {
  errno = 0;
  const long result = call();
  const int error = errno;
  Say(result < 0 && (error == EPERM || error == EACCES), title, result < 0 ? strerror(error) : "it worked");
}

int Connect(const char* address) {
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  if (made < 0) return -1;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(80);
  inet_pton(AF_INET, address, &to.sin_addr);
  return connect(made, reinterpret_cast<sockaddr*>(&to), sizeof to);
}

void* Map(int protection) { return mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

constexpr rlim_t kMore = 64 << 20;

void ConfineItself() {
  const int extra = open("/dev/null", O_RDONLY);
  aana::sandbox::DropInheritance(3);
  auto confinement = aana::sandbox::ConfineProcess(kMore);
  confinement.has_filter = aana::sandbox::FilterSystemCalls(aana::sandbox::Work::kGuests);
  Say(confinement.has_filter, "the filter of system calls is installed", "it is not");
  Say(confinement.has_no_new_privileges, "there are no new privileges", "there are");
  Say(environ == nullptr || *environ == nullptr, "the environment is empty", "it is not");
  Say(close(extra) < 0 && errno == EBADF, "inherited descriptors are closed", "they are open");
  printf("landlock %d\n", confinement.landlock);
}

// What a program with a compiler of its own may do.
void TryCode() {
  Refused("memory cannot become code", [] {
    void* page = Map(PROT_READ | PROT_WRITE);
    return mprotect(page, 4096, PROT_READ | PROT_EXEC);
  });
  Refused("no code can be mapped", [] { return Map(PROT_READ | PROT_EXEC) == MAP_FAILED ? -1 : 0; });
}

}  // namespace

int main(int count, char**) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  const char* facts = getenv("AANA_CONFINEMENT");
  if (count == 1) {
    ConfineItself();
    TryCode();
  }
  // Only Landlock says which files a program reads and executes.
  if (facts == nullptr || strstr(facts, "\"landlock\":0") == nullptr) {
    Refused("a file cannot be read", [] { return open("/etc/passwd", O_RDONLY); });
    Refused("no program can be run", [] {
      char* const none[] = {nullptr};
      return execve("/bin/true", none, none);
    });
  }
  Refused("a file cannot be written", [] { return open("/tmp/aana-sandbox-escape", O_WRONLY | O_CREAT, 0600); });
  Refused("a file cannot be removed", [] { return unlink("/tmp/aana-sandbox-escape"); });
  Refused("the memory of the parent cannot be opened", [] {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", getppid());
    return open(path, O_RDWR);
  });
  Refused("the memory of the parent cannot be read", [] {
    char byte = 0;
    iovec mine{&byte, 1};
    iovec theirs{reinterpret_cast<void*>(0x400000), 1};
    return process_vm_readv(1, &mine, 1, &theirs, 1, 0);
  });
  Refused("no process can be traced", [] { return ptrace(PTRACE_ATTACH, 1, nullptr, nullptr); });
  Refused("no connection can be made", [] { return Connect("127.0.0.1"); });
  Refused("no process can be started", [] { return static_cast<long>(fork()); });
  Refused("no other process gets a signal", [] { return kill(1, 0); });
  Refused("no other namespace can be entered", [] { return syscall(SYS_unshare, 0x10000000); });
  Refused("no network can be entered", [] { return syscall(SYS_setns, 0, 0); });
  Refused("no disk can be mounted", [] { return mount("none", "/tmp", "tmpfs", 0, nullptr); });
  for (const long number : {SYS_bpf, SYS_perf_event_open, SYS_keyctl, SYS_userfaultfd, SYS_io_uring_setup})
    Refused(("system call " + std::to_string(number) + " cannot be used").c_str(),
            [number] { return syscall(number); });
  Refused("a descriptor cannot be made to signal another process", [] { return fcntl(1, F_SETOWN, getppid()); });
  Refused("memory cannot be a file", [] { return memfd_create("escape", 0); });
  const auto map_with = [](int flags) {
    return [flags] {
      void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
      return page == MAP_FAILED ? -1 : 0;
    };
  };
  Refused("no memory can be shared", map_with(MAP_SHARED));
  Refused("no memory can be shared by the newer kind of mapping", map_with(MAP_SHARED_VALIDATE));
  Refused("no memory can grow by itself", map_with(MAP_PRIVATE | MAP_GROWSDOWN));
  Refused("limits cannot be raised", [] {
    const rlimit more{4096, 4096};
    return setrlimit(RLIMIT_NOFILE, &more);
  });

  void* large = mmap(nullptr, 2 * kMore, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Say(large == MAP_FAILED && errno == ENOMEM, "memory is limited", "it is not");
  void* small = mmap(nullptr, kMore / 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Say(small != MAP_FAILED, "memory below the limit can be had", strerror(errno));
  return has_failed ? 1 : 0;
}
