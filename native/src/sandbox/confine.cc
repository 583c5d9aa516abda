#include "sandbox/commands.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <unistd.h>

#include "sandbox/process/confinement.h"
#include "sandbox/process/filter.h"

#ifdef __linux__
#include <elf.h>
#include <fcntl.h>
#endif

namespace aana::sandbox {

namespace {

// An event loop has several descriptors in each thread.
constexpr uint32_t kDescriptors = 1'024;
// Where systems keep libraries and what the dynamic loader reads. Nothing there is secret.
constexpr const char* kLibraries[] = {"/lib",           "/lib64",     "/usr/lib",         "/usr/lib64",
                                      "/usr/local/lib", "/nix/store", "/etc/ld.so.cache", "/dev/null"};

#ifdef __linux__

// The path of the dynamic loader, which a program names. Empty for a program that needs none.
std::string LoaderOf(const char* program) {
  const int file = open(program, O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string path;
  Elf64_Ehdr head{};
  if (pread(file, &head, sizeof head, 0) == sizeof head && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0) {
    for (unsigned i = 0; i < head.e_phnum; i++) {
      Elf64_Phdr part{};
      const auto at = static_cast<off_t>(head.e_phoff + uint64_t{i} * sizeof part);
      if (pread(file, &part, sizeof part, at) != sizeof part || part.p_type != PT_INTERP || part.p_filesz > 4'096)
        continue;
      path.resize(part.p_filesz);
      if (pread(file, path.data(), path.size(), static_cast<off_t>(part.p_offset)) < 0) path.clear();
      path.resize(strnlen(path.data(), path.size()));  // it ends with a zero
    }
  }
  close(file);
  return path;
}

#else

std::string LoaderOf(const char*) { return ""; }

#endif

}  // namespace

void RunConfined(const Settings& settings, char** command) {
  const char* program = command[0];
  DropInheritance(static_cast<int>(settings.descriptors));
  std::vector<Readable> readable = {{program, true}, {LoaderOf(program), true}};
  for (const char* path : kLibraries) readable.push_back({path});
  for (const auto& path : settings.readable) readable.push_back({path});
  auto confinement = ConfineProcess(settings.total_bytes, kDescriptors, readable);
  confinement.has_filter = FilterSystemCalls(Work::kProgram);
  std::string facts = "AANA_CONFINEMENT=" + JsonOf(confinement);
  // Node ends when it finds a configuration of OpenSSL that it may not read.
  std::string no_configuration = "OPENSSL_CONF=/dev/null";
  char* environment[] = {facts.data(), no_configuration.data(), nullptr};
  execve(program, command, environment);
  throw std::runtime_error(std::string(program) + " cannot be run: " + strerror(errno));
}

}  // namespace aana::sandbox
