#include "sandbox/commands.h"

#include <csignal>
#include <cstdio>
#include <latch>
#include <new>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "sandbox/guest/worker.h"
#include "sandbox/process/confinement.h"
#include "sandbox/process/filter.h"

namespace aana::sandbox {

namespace {

constexpr int kCodeFile = 3;
constexpr int kFirstSocket = 4;
// Memory that the process needs beside that of guests.
constexpr uint64_t kOwnBytes = uint64_t{256} << 20;

const char* NameOf(Way way) {
  switch (way) {
    case Way::kAsk:
      return "ask";
    case Way::kTell:
      return "tell";
    default:
      return "output";
  }
}

// `{slots, functions: [[name, way]], exports: [name], resources: [name], confinement: {...}}`
void SayReady(Channel& channel, const Plugin& plugin, const Settings& settings, const Confinement& confinement) {
  const auto& pool = plugin.description();
  FrameWriter frame(channel.out(), 0, FrameKind::kReady);
  auto out = frame.cbor();
  out.Map(5);
  out.Text("slots");
  out.Unsigned(settings.slots);
  out.Text("functions");
  out.Array(pool.functions.size());
  for (const auto& function : pool.functions) {
    out.Array(2);
    out.Text(function->name);
    out.Text(NameOf(function->way));
  }
  out.Text("exports");
  out.Array(pool.exports.size());
  for (const auto& function : pool.exports) out.Text(function.name);
  out.Text("resources");
  out.Array(pool.resources.size());
  for (uint32_t number = 1; number <= pool.resources.size(); number++) out.Text(pool.resources.name(number));
  out.Text("confinement");
  out.Map(4);
  out.Text("no-new-privileges");
  out.Bool(confinement.has_no_new_privileges);
  out.Text("seccomp");
  out.Bool(confinement.has_filter);
  out.Text("landlock");
  out.Unsigned(static_cast<uint64_t>(confinement.landlock));
  out.Text("memory-limit");
  out.Bool(confinement.has_memory_limit);
  frame.Commit();
}

// The library trusts code that it loads, and whoever can write to a folder above it can give the host another file.
void RequireOwnCode() {
  struct stat found{};
  if (fstat(kCodeFile, &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & 022))
    throw Refused("its compiled code is not a file that only this user can write to");
}

[[noreturn]] void End(int status) {
  // Without destructors: other threads still use everything, and the kernel takes it back.
  fflush(stderr);
  _exit(status);
}

}  // namespace

void Serve(const Settings& settings) {
  signal(SIGPIPE, SIG_IGN);
  // The host gets these, too, and lets runs end before it ends this process.
  for (const int ending : {SIGINT, SIGTERM, SIGHUP}) signal(ending, SIG_IGN);
  DropInheritance(kFirstSocket + static_cast<int>(settings.threads));
  RequireOwnCode();
  Plugin plugin(settings, "/dev/fd/3");
  Ticker ticker(plugin);
  close(kCodeFile);
  auto confinement = ConfineProcess(settings.total_bytes + kOwnBytes);
  std::latch is_confined(1);
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t i = 0; i < settings.threads; i++)
    workers.push_back(std::make_unique<Worker>(plugin, ticker, settings, kFirstSocket + static_cast<int>(i)));
  std::thread([&ticker] { ticker.Run(); }).detach();
  std::vector<std::thread> threads;
  for (auto& worker : workers)
    threads.emplace_back([&worker, &is_confined] {
      is_confined.wait();
      try {
        worker->Run();
        End(0);
      } catch (const std::bad_alloc&) {
        fprintf(stderr, "no memory is left\n");
        End(3);
      } catch (const std::exception& error) {
        fprintf(stderr, "%s\n", error.what());
        End(4);
      }
    });
  confinement.has_filter = FilterSystemCalls(Work::kGuests);
  for (auto& worker : workers) SayReady(worker->channel(), plugin, settings, confinement);
  is_confined.count_down();
  for (auto& thread : threads) thread.join();  // each of them ends the process
}

}  // namespace aana::sandbox
