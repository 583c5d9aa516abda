#pragma once

#include <ggml.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

namespace aana::compute {

// Memory in which a file is mapped. The file may be removed or replaced meanwhile.
class MappedFile {
 public:
  MappedFile(void* data, size_t n_bytes) : data_(data), n_bytes_(n_bytes) {}
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  void* data() const { return data_; }

 private:
  void* data_;
  size_t n_bytes_;
};

// The weights of a model as they lie in memory, in a file beside the model. The first process that loads the model
// writes it; later ones map it, so that they neither pack the weights nor have copies of their own. Files are trusted
// as the model is: only their length and a mark show that they are whole. Nothing is kept outside of Linux.
class PackedFile {
 public:
  // `identity` names the content of the model, and what the weights depend on besides.
  PackedFile(std::string path, const std::string& identity);
  // Removes a file that was not published, and waits until a published one is on the disk.
  ~PackedFile();
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  // Returns memory for the weights: the file, or a new one. Waits for another process that writes it. Null, where
  // memory of the process must do: the disk has no room, the folder cannot be written to, or this is a second buffer.
  std::shared_ptr<MappedFile> Map(size_t n_bytes);

  // Whether the tensor, which lies `offset` bytes from the beginning, is in the file already.
  bool Has(const ggml_tensor* tensor, size_t offset, bool is_packed) const;
  // Notes that it was written as a whole.
  void Note(const ggml_tensor* tensor, size_t offset, bool is_packed);
  // Notes that something was written that is not known by its tensor.
  void NoteUnknown() { is_publishable_ = false; }

  // Lets other processes use the file.
  void Publish();

 private:
  std::shared_ptr<MappedFile> MapExisting(size_t n_bytes);
  bool LockMaking();
  void Discard();

  const std::string path_;
  const std::string making_path_;
  const uint64_t identity_;
  bool is_asked_ = false;
  bool is_publishable_ = true;
  int making_ = -1;  // the file that this process writes
  size_t n_bytes_ = 0;
  std::unordered_set<uint64_t> tensors_;  // that the file has, or gets
  std::thread syncing_;
};

// While it lives, buffers of weights that this thread allocates lie in the file. Null: in memory of the process.
class LoadsInto {
 public:
  explicit LoadsInto(PackedFile* file);
  ~LoadsInto();
  LoadsInto(const LoadsInto&) = delete;
  LoadsInto& operator=(const LoadsInto&) = delete;

  // The file of this thread.
  static PackedFile* file();
};

}  // namespace aana::compute
