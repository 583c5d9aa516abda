// Runs the sandbox in a new process for each connection to a Unix socket, for fuzzing. A fork takes a tenth of the time
// in which a program starts.
//
//   aana-sandbox-forks folder compile|serve [name=value…]
//
// In the folder: the socket, named by what is run, and the files of the processes: `component`, `description`, `code`,
// and `said`, which is standard error. The connection is the socket of `serve`. Prints a line for each process that has
// ended: its exit code, and the signal that has ended it or 0.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <csignal>
#include <sys/prctl.h>
#endif

#include "sandbox/run.h"

namespace {

constexpr int kCode = 3;
constexpr int kConnection = 4;

[[noreturn]] void Fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

void Place(int descriptor, int number) {
  if (descriptor < 0 || dup2(descriptor, number) < 0) Fail("a descriptor");
  if (descriptor > kConnection) close(descriptor);
}

[[noreturn]] void RunChild(const std::string& folder, int connection, int count, char** arguments) {
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  const bool serves = strcmp(arguments[1], "serve") == 0;
  const auto made = [&](const char* name) { return open((folder + name).c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600); };
  const auto found = [&](const char* name) { return open((folder + name).c_str(), O_RDONLY); };
  Place(connection, kConnection);
  Place(serves ? found("/code") : made("/code"), kCode);
  Place(serves ? found("/code") : found("/component"), STDIN_FILENO);
  Place(serves ? open("/dev/null", O_WRONLY) : made("/description"), STDOUT_FILENO);
  Place(made("/said"), STDERR_FILENO);
  const int code = aana::sandbox::Run(count, arguments);
  fflush(stderr);
  _exit(code);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 1;
  const std::string folder = arguments[1];
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder + "/" + arguments[2];
  if (path.size() >= sizeof address.sun_path) return 1;
  path.copy(address.sun_path, path.size());
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) Fail(path.c_str());
  if (listen(listener, 1) != 0) Fail("listen");
  puts("listening");
  for (;;) {
    fflush(stdout);
    const int connection = accept(listener, nullptr, nullptr);
    if (connection < 0) Fail("accept");
    const pid_t child = fork();
    if (child < 0) Fail("fork");
    if (child == 0) RunChild(folder, connection, count - 1, arguments + 1);
    close(connection);
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
      if (errno != EINTR) Fail("waitpid");
    printf("%d %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  }
}
