/*
 * aana-launcher: starts a program that dies with its parent, at a lower priority and inside limits.
 *
 *   aana-launcher [--nice N] [--cpu SECONDS] [--fsize BYTES] [--as BYTES] [--nofile N] [--affinity LIST] [--parent PID]
 *                 -- command args…
 *
 * The program replaces this process, so it keeps the pid, stdio and other open descriptors that the parent gave. It is
 * killed when the thread that started it ends, even if it is stopped. The setting survives execve, except into a
 * set-user-id file. Own exit codes: 125 the parent is gone, 126 wrong use, 127 the command cannot be run. 126 and 127
 * print one sentence.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { EXIT_ORPHAN = 125, EXIT_USAGE = 126, EXIT_NO_COMMAND = 127 };

static void fail(int code, const char* format, ...) {
  va_list args;
  va_start(args, format);
  fputs("aana-launcher: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(code);
}

static unsigned long long parse_number(const char* option, const char* text) {
  char* end = NULL;
  errno = 0;
  const unsigned long long value = text ? strtoull(text, &end, 10) : 0;
  if (!text || errno || end == text || *end || *text == '-')
    fail(EXIT_USAGE, "%s must be followed by a number", option);
  return value;
}

/* Never sets a limit above the present hard limit, because raising it would need rights that we may not have. */
static void limit(int resource, rlim_t soft, rlim_t hard, const char* option) {
  struct rlimit now;
  if (getrlimit(resource, &now) != 0) fail(EXIT_USAGE, "%s: %s", option, strerror(errno));
  if (now.rlim_max != RLIM_INFINITY && hard > now.rlim_max) hard = now.rlim_max;
  const struct rlimit wanted = {.rlim_cur = soft > hard ? hard : soft, .rlim_max = hard};
  if (setrlimit(resource, &wanted) != 0) fail(EXIT_USAGE, "%s: %s", option, strerror(errno));
}

/* Only lowers the priority. A parent that is nicer already keeps its niceness. */
static void lower_priority(int niceness) {
  errno = 0;
  const int now = getpriority(PRIO_PROCESS, 0);
  if (errno == 0 && now >= niceness) return;
  if (setpriority(PRIO_PROCESS, 0, niceness) != 0) fail(EXIT_USAGE, "--nice: %s", strerror(errno));
}

/* Binds this process, and so the program with all of its threads, to processors in the form 0-3,8. */
static void bind_to(const char* option, const char* list) {
  enum { MOST = 8192 };
  cpu_set_t* set = CPU_ALLOC(MOST);
  const size_t size = CPU_ALLOC_SIZE(MOST);
  if (!set) fail(EXIT_USAGE, "%s: %s", option, strerror(errno));
  if (!list) list = "";
  CPU_ZERO_S(size, set);
  for (const char* at = list; at == list || *at;) {
    int first = 0, last = 0, n_read = 0;
    if (sscanf(at, "%4d%n-%4d%n", &first, &n_read, &last, &n_read) < 2) last = first;
    const char end = n_read > 0 ? at[n_read] : '?';
    if (first < 0 || last < first || last >= MOST || (end && end != ','))
      fail(EXIT_USAGE, "%s must be followed by processors such as 0-3,8", option);
    for (int processor = first; processor <= last; processor++) CPU_SET_S((size_t)processor, size, set);
    at += n_read + (end == ',');
  }
  if (sched_setaffinity(0, size, set) != 0) fail(EXIT_USAGE, "%s %s: %s", option, list, strerror(errno));
  CPU_FREE(set);
}

int main(int argc, char** argv) {
  pid_t parent = 0;
  int i = 1;
  limit(RLIMIT_CORE, 0, 0, "core");
  for (; i < argc && strcmp(argv[i], "--") != 0; i += 2) {
    const char* option = argv[i];
    const char* text = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(option, "--affinity") == 0) {
      bind_to(option, text);
      continue;
    }
    const unsigned long long value = parse_number(option, text);
    if (strcmp(option, "--nice") == 0) {
      lower_priority(value > 19 ? 19 : (int)value);
    } else if (strcmp(option, "--cpu") == 0) {
      limit(RLIMIT_CPU, value, value + 1, option); /* SIGXCPU, a second later SIGKILL */
    } else if (strcmp(option, "--fsize") == 0) {
      limit(RLIMIT_FSIZE, value, value, option);
    } else if (strcmp(option, "--as") == 0) {
      limit(RLIMIT_AS, value, value, option);
    } else if (strcmp(option, "--nofile") == 0) {
      limit(RLIMIT_NOFILE, value, value, option);
    } else if (strcmp(option, "--parent") == 0) {
      parent = value > INT_MAX ? 0 : (pid_t)value;
    } else {
      fail(EXIT_USAGE, "unknown option %s", option);
    }
  }
  if (i + 1 >= argc) fail(EXIT_USAGE, "no command after --");

  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail(EXIT_USAGE, "parent-death signal: %s", strerror(errno));
  /* The parent may have died before the line above took effect. */
  if (parent != 0 && getppid() != parent) return EXIT_ORPHAN;

  char** command = argv + i + 1;
  execvp(command[0], command);
  fail(EXIT_NO_COMMAND, "cannot run %s: %s", command[0], strerror(errno));
}
