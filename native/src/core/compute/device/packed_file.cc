#include "core/compute/device/packed_file.h"

#include <array>
#include <utility>

#include "core/checksum.h"

#ifdef __linux__
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#endif

namespace aana::compute {
namespace {

thread_local PackedFile* loaded_file = nullptr;

uint64_t NumberOf(const std::string& text) { return Checksum(text.data(), text.size()); }

uint64_t NumberOf(const ggml_tensor* tensor, size_t offset, bool is_packed) {
  const std::array<int64_t, 7> numbers = {tensor->type,  tensor->ne[0], tensor->ne[1],
                                          tensor->ne[2], tensor->ne[3], static_cast<int64_t>(offset),
                                          is_packed};
  return Checksum(numbers.data(), sizeof numbers, NumberOf(tensor->name));
}

}  // namespace

LoadsInto::LoadsInto(PackedFile* file) { loaded_file = file; }

LoadsInto::~LoadsInto() { loaded_file = nullptr; }

PackedFile* LoadsInto::file() { return loaded_file; }

PackedFile::PackedFile(std::string path, const std::string& identity)
    : path_(std::move(path)), making_path_(path_ + ".making"), identity_(NumberOf(identity)) {}

bool PackedFile::Has(const ggml_tensor* tensor, size_t offset, bool is_packed) const {
  return making_ < 0 && tensors_.contains(NumberOf(tensor, offset, is_packed));
}

void PackedFile::Note(const ggml_tensor* tensor, size_t offset, bool is_packed) {
  tensors_.insert(NumberOf(tensor, offset, is_packed));
}

#ifdef __linux__

namespace {

using namespace std::chrono_literals;

constexpr std::array<char, 8> kMark = {'a', 'a', 'n', 'a', 'p', 'a', 'c', 'k'};
// Changes when the file has another form.
constexpr uint32_t kVersion = 1;
// The disk keeps so much room for others.
constexpr uint64_t kLeastFree = uint64_t{1} << 30;
// How long a load waits for another process that packs the same model, at most.
constexpr auto kLongestWait = 120s;
constexpr auto kBetweenLooks = 20ms;

// The end of the file. The numbers of the tensors are before it, and before them the weights.
struct Trailer {
  std::array<char, 8> mark = kMark;
  uint32_t version = kVersion;
  // Whether the disk has all of it. Otherwise it is whole as long as the machine runs.
  uint32_t is_synced = 0;
  uint64_t identity = 0;
  uint64_t n_bytes = 0;  // of the weights
  uint64_t n_tensors = 0;
  std::array<char, 40> boot = {};  // names the run of the machine that wrote it
};

std::array<char, 40> ThisBoot() {
  std::array<char, 40> boot = {};
  std::ifstream("/proc/sys/kernel/random/boot_id").read(boot.data(), boot.size() - 1);
  return boot;
}

bool ReadAll(int file, void* to, size_t n, uint64_t at) {
  for (auto* bytes = static_cast<char*>(to); n > 0;) {
    const auto n_read = pread(file, bytes, n, static_cast<off_t>(at));
    if (n_read < 0 && errno == EINTR) continue;
    if (n_read <= 0) return false;
    bytes += n_read;
    at += static_cast<uint64_t>(n_read);
    n -= static_cast<size_t>(n_read);
  }
  return true;
}

bool WriteAll(int file, const void* from, size_t n, uint64_t at) {
  for (const auto* bytes = static_cast<const char*>(from); n > 0;) {
    const auto n_written = pwrite(file, bytes, n, static_cast<off_t>(at));
    if (n_written < 0 && errno == EINTR) continue;
    if (n_written <= 0) return false;
    bytes += n_written;
    at += static_cast<uint64_t>(n_written);
    n -= static_cast<size_t>(n_written);
  }
  return true;
}

bool HasRoom(int file, size_t n_bytes) {
  struct statvfs disk = {};
  return fstatvfs(file, &disk) == 0 && disk.f_bavail * disk.f_frsize >= n_bytes + kLeastFree;
}

}  // namespace

MappedFile::~MappedFile() { munmap(data_, n_bytes_); }

PackedFile::~PackedFile() {
  if (syncing_.joinable()) syncing_.join();
  Discard();
}

void PackedFile::Discard() {
  if (making_ < 0) return;
  unlink(making_path_.c_str());
  close(making_);
  making_ = -1;
}

std::shared_ptr<MappedFile> PackedFile::Map(size_t n_bytes) {
  if (std::exchange(is_asked_, true) || n_bytes == 0) return nullptr;
  if (auto existing = MapExisting(n_bytes)) return existing;
  if (!LockMaking()) return nullptr;
  // Another process may have written it meanwhile.
  if (auto existing = MapExisting(n_bytes)) {
    Discard();
    return existing;
  }
  // Blocks are reserved, because a page of a file without one ends the process when the disk is full.
  if (ftruncate(making_, 0) != 0 || !HasRoom(making_, n_bytes) ||
      posix_fallocate(making_, 0, static_cast<off_t>(n_bytes)) != 0) {
    Discard();
    return nullptr;
  }
  void* const data = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, making_, 0);
  if (data == MAP_FAILED) {
    Discard();
    return nullptr;
  }
  n_bytes_ = n_bytes;
  return std::make_shared<MappedFile>(data, n_bytes);
}

std::shared_ptr<MappedFile> PackedFile::MapExisting(size_t n_bytes) {
  const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return nullptr;
  struct stat status = {};
  Trailer trailer;
  std::vector<uint64_t> tensors;
  const auto is_whole = [&] {
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) return false;
    const auto length = static_cast<uint64_t>(status.st_size);
    if (length < n_bytes + sizeof trailer || !ReadAll(file, &trailer, sizeof trailer, length - sizeof trailer))
      return false;
    if (trailer.mark != kMark || trailer.version != kVersion || trailer.identity != identity_ ||
        trailer.n_bytes != n_bytes || trailer.n_tensors != (length - n_bytes - sizeof trailer) / sizeof(uint64_t))
      return false;
    if (trailer.is_synced == 0 && trailer.boot != ThisBoot()) return false;
    tensors.resize(trailer.n_tensors);
    return ReadAll(file, tensors.data(), tensors.size() * sizeof(uint64_t), n_bytes);
  };
  // Private, so that a tensor that the file lacks can be written.
  void* const data =
      is_whole() ? mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0) : MAP_FAILED;
  close(file);
  if (data == MAP_FAILED) return nullptr;
  madvise(data, n_bytes, MADV_WILLNEED);
  tensors_.insert(tensors.begin(), tensors.end());
  return std::make_shared<MappedFile>(data, n_bytes);
}

// Opens the file in which the weights are made, and keeps other processes from doing so. It is named otherwise when it
// is whole, so a lock counts only if the name still leads to it.
bool PackedFile::LockMaking() {
  const auto until = std::chrono::steady_clock::now() + kLongestWait;
  do {
    const int file = open(making_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return false;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
      struct stat ours = {};
      struct stat named = {};
      if (fstat(file, &ours) == 0 && stat(making_path_.c_str(), &named) == 0 && ours.st_ino == named.st_ino) {
        making_ = file;
        return true;
      }
    }
    close(file);
    std::this_thread::sleep_for(kBetweenLooks);
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

void PackedFile::Publish() {
  if (making_ < 0) return;
  const std::vector<uint64_t> tensors(tensors_.begin(), tensors_.end());
  const size_t n_table = tensors.size() * sizeof(uint64_t);
  Trailer trailer{.identity = identity_, .n_bytes = n_bytes_, .n_tensors = tensors.size(), .boot = ThisBoot()};
  if (!is_publishable_ || !WriteAll(making_, tensors.data(), n_table, n_bytes_) ||
      !WriteAll(making_, &trailer, sizeof trailer, n_bytes_ + n_table) ||
      std::rename(making_path_.c_str(), path_.c_str()) != 0) {
    Discard();
    return;
  }
  // Other processes can use it at once. That it survives the machine is noted when the disk has it.
  const uint64_t at = n_bytes_ + n_table;
  syncing_ = std::thread([file = std::exchange(making_, -1), trailer, at]() mutable {
    trailer.is_synced = 1;
    if (fdatasync(file) == 0 && WriteAll(file, &trailer, sizeof trailer, at)) fdatasync(file);
    close(file);
  });
}

#else

MappedFile::~MappedFile() = default;
PackedFile::~PackedFile() = default;
std::shared_ptr<MappedFile> PackedFile::Map(size_t) { return nullptr; }
void PackedFile::Publish() {}

#endif

}  // namespace aana::compute
