// Saved prompts on disk.
#include "core/llama/prompt_cache/prompt_cache.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"
#include "core/llama/prompt_cache/state_parts.h"
#include "helpers.h"
#include "states.h"
#include "tests.h"

namespace aana::test {
namespace {

using namespace aana::llama;
namespace fs = std::filesystem;

constexpr uint64_t kRoomy = 1U << 30;

// A folder that is empty before and gone afterwards.
struct Folder {
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(path)) found.push_back(entry.path());
    return found;
  }
  fs::path path = fs::temp_directory_path() /
                  ("aana-prompts-" + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()));
};

constexpr size_t kBlock = PromptCache::kBlockTokens;

PromptBlock Block(std::vector<TokenId> tokens, size_t n_bytes = 1000) {
  StateBytes state(n_bytes);
  std::memset(state.bytes.get(), static_cast<int>(tokens.size() % 256), n_bytes);
  return {"key", 64, std::move(tokens), std::move(state)};
}

SavedPrompt Prompt(std::vector<TokenId> tokens, const std::string& key = "key", const StateForm& form = {}) {
  auto state = StateOf(tokens, form);
  return {key, std::move(tokens), std::move(state)};
}

// The state of a block in the folder; empty when there is none.
std::optional<StateBytes> StateIn(const Folder& folder, uint64_t number, const PromptBlock& block) {
  return PromptFiles(folder.path, "model", kRoomy).Read(number, block.key, block.first, block.tokens);
}

PromptFiles Files(const Folder& folder, uint64_t max_bytes = kRoomy) { return {folder.path, "model", max_bytes}; }

// What a cache reads; null when it has nothing.
std::unique_ptr<SavedPrompt> Fetched(PromptCache& cache, const std::vector<TokenId>& tokens, size_t n_there = 0) {
  std::promise<std::unique_ptr<SavedPrompt>> promise;
  if (!cache.Fetch("key", tokens, n_there, [&](auto prompt) { promise.set_value(std::move(prompt)); })) return nullptr;
  return promise.get_future().get();
}

// Saves a prompt and waits until it is written.
void SaveAll(const Folder& folder, SavedPrompt prompt, uint64_t max_bytes = kRoomy, bool cuts = true) {
  PromptCache(Files(folder, max_bytes), 16, 1, cuts).Save(std::move(prompt));
}

// The files of a folder, with what is written in them at the moment.
std::map<fs::path, ino_t> Inodes(const Folder& folder) {
  std::map<fs::path, ino_t> inodes;
  for (const auto& path : folder.files()) {
    struct stat status{};
    stat(path.c_str(), &status);
    inodes[path] = status.st_ino;
  }
  return inodes;
}

void Damage(const fs::path& path, std::streamoff at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(at, at < 0 ? std::ios::end : std::ios::beg);
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(at, at < 0 ? std::ios::end : std::ios::beg);
  file.put(byte);
}

}  // namespace

void TestPromptCache() {
  Test("a block is read as it was written, also by another process", [] {
    const Folder folder;
    Files(folder).Write(5, Block(Numbers(1, 40)));
    Expect(Files(folder).List() == std::vector<uint64_t>{5}, "its number");
    const auto block = Block(Numbers(1, 40));
    const auto state = StateIn(folder, 5, block);
    Expect(state && state->size == 1000 && state->bytes[999] == 40, "its state");
    Expect(!Files(folder).Read(5, "key", 64, Numbers(2, 40)), "other tokens");
    Expect(!Files(folder).Read(5, "key", 64, Numbers(1, 39)), "fewer tokens");
    Expect(!Files(folder).Read(5, "key", 0, Numbers(1, 40)), "another place");
    Expect(!Files(folder).Read(5, "kez", 64, Numbers(1, 40)), "another key");
    Expect(StateIn(folder, 5, block).has_value(), "it is still there");
    Expect(PromptFiles(folder.path, "another model", kRoomy).List().empty(), "another model has no file");
    const auto permissions = fs::status(folder.files()[0]).permissions();
    Expect((permissions & (fs::perms::group_all | fs::perms::others_all)) == fs::perms::none,
           "only this user may read it");
  });

  Test("damaged files are deleted, others are left alone", [] {
    Folder folder;
    for (const std::streamoff at : {0, 9, 25, 30, 45, -1000, -500, -1}) {
      Files(folder).Write(1, Block(Numbers(1, 40)));
      Damage(folder.files()[0], at);
      Expect(!StateIn(folder, 1, Block(Numbers(1, 40))) && folder.files().empty(), "damage at " + std::to_string(at));
    }
    // It may be another's. It is written again when its tokens are computed.
    for (const std::streamoff at : {17, 49, 60, 100}) {
      Files(folder).Write(1, Block(Numbers(1, 40)));
      Damage(folder.files()[0], at);
      Expect(!StateIn(folder, 1, Block(Numbers(1, 40))), "damage of what it is for, at " + std::to_string(at));
    }
    for (const uintmax_t n_bytes : {0, 1, 47, 48, 60, 200, 1000}) {
      Files(folder).Write(1, Block(Numbers(1, 40)));
      fs::resize_file(folder.files()[0], n_bytes);
      Expect(!StateIn(folder, 1, Block(Numbers(1, 40))) && folder.files().empty(), "cut at " + std::to_string(n_bytes));
    }
    Files(folder).Write(1, Block(Numbers(1, 40)));
    auto path = folder.files()[0].string();
    std::ofstream(path, std::ios::app) << "more";
    Expect(!StateIn(folder, 1, Block(Numbers(1, 40))) && folder.files().empty(), "a file that is too long");
    std::ofstream(folder.path / "notes.prompt") << "mine";
    path[path.size() - 8] = 'a';
    fs::create_directory(path);
    path[path.size() - 8] = 'b';
    fs::create_symlink("/etc/passwd", path);
    for (const uint64_t number : {10, 11}) Expect(!StateIn(folder, number, Block(Numbers(1, 40))), "it was read");
    Expect(Files(folder).List().empty() && folder.files().size() == 3, "others are left alone");
    PromptFiles(folder.path, "model", 1000).MakeRoom(1000);
    Expect(folder.files().size() == 3, "also when room is made");
  });

  Test("lengths that a file states take no memory before they are known to be right", [] {
    // A file that has no blocks on the disk may be of any length.
    constexpr uint64_t kVast = uint64_t{1} << 40;
    const auto asked = Block(Numbers(1, 40));
    const std::array names{"key", "tokens", "state"};
    const std::array offsets{8, 24, 32};
    for (size_t i = 0; i < names.size(); i++) {
      for (const uint64_t stated : {kVast, UINT64_MAX, UINT64_MAX / 4, UINT64_MAX / 4 + 1 - 12}) {
        const Folder folder;
        Files(folder).Write(1, asked);
        const auto path = folder.files()[0];
        std::fstream(path, std::ios::binary | std::ios::in | std::ios::out)
            .seekp(offsets[i])
            .write(reinterpret_cast<const char*>(&stated), sizeof stated);
        if (stated == kVast) fs::resize_file(path, fs::file_size(path) + kVast * (i == 1 ? sizeof(TokenId) : 1));
        Expect(!StateIn(folder, 1, asked) && folder.files().empty(),
               std::string("the length of the ") + names[i] + " is " + std::to_string(stated));
      }
    }
    // One whose length is right is not read for other tokens.
    const Folder folder;
    Files(folder).Write(1, asked);
    fs::resize_file(folder.files()[0], kRoomy);
    const uint64_t n_state = kRoomy - PromptFiles::SizeOf(Block(Numbers(1, 40), 0));
    std::fstream(folder.files()[0], std::ios::binary | std::ios::in | std::ios::out)
        .seekp(offsets[2])
        .write(reinterpret_cast<const char*>(&n_state), sizeof n_state);
    Expect(!StateIn(folder, 1, Block(Numbers(2, 40))) && folder.files().size() == 1, "it has other tokens");
  });

  Test("a link in the place of an unfinished file is not followed", [] {
    const Folder folder;
    const Folder other;
    Files(folder);
    fs::create_directory(other.path);
    const auto target = other.path / "target";
    std::ofstream(target) << "mine";
    // The names that a writer of this process may have guessed from a count.
    Files(folder).Write(5, Block(Numbers(1, 40)));
    const auto path = folder.files()[0];
    for (int n = 0; n < 10; n++)
      fs::create_symlink(target,
                         path.string() + "." + std::to_string(getpid()) + "-" + std::to_string(n) + ".prompt.tmp");
    Files(folder).Write(5, Block(Numbers(1, 40)));
    Expect(fs::file_size(target) == 4, "the file behind the link was written");
    Expect(fs::is_regular_file(fs::symlink_status(path)), "the link has the name of the file");
  });

  Test("room is made by those that were used the longest ago", [] {
    const Folder folder;
    auto files = Files(folder, 3500);
    for (const uint64_t number : {1, 2, 3}) files.Write(number, Block(Numbers(1, 10)));
    const std::vector<uint64_t> order{3, 1, 2};
    files.Touch(order);
    files.MakeRoom(PromptFiles::SizeOf(Block(Numbers(1, 10))));
    auto left = files.List();
    std::ranges::sort(left);
    Expect(left == std::vector<uint64_t>{1, 3}, "the last one that was touched goes");
  });

  Test("files that writers left unfinished are deleted after a while", [] {
    const Folder folder;
    Files(folder);
    for (const auto* name : {"old.prompt.tmp", "new.prompt.tmp"}) std::ofstream(folder.path / name) << "x";
    fs::last_write_time(folder.path / "old.prompt.tmp", fs::file_time_type::clock::now() - std::chrono::hours(1));
    Files(folder);
    Expect(folder.files().size() == 1 && folder.files()[0].filename() == "new.prompt.tmp", "one of two");
  });

  Test("the longest beginning in whole blocks is found, also after a restart and by another number of caches", [] {
    const Folder folder;
    const auto tokens = Numbers(1, 5 * kBlock + 20);
    SaveAll(folder, Prompt(tokens, "key", {.n_caches = 3, .cache = 1, .n_rotated = 7}));
    for (const uint32_t n_caches : {1, 4}) {
      PromptCache cache(Files(folder), 16, n_caches, true);
      for (const size_t n : {kBlock, 2 * kBlock + 1, 4 * kBlock - 1, tokens.size(), tokens.size() + 100}) {
        auto asked = Numbers(1, n);
        if (n > kBlock) asked.back() = 0;
        const auto prompt = Fetched(cache, asked);
        const size_t n_found = std::min<size_t>((n > kBlock ? n - 1 : n) / kBlock, 5) * kBlock;
        Expect(prompt && prompt->tokens == Numbers(1, n_found), std::to_string(n) + " tokens");
        const auto state = StateOf(prompt->tokens, {});
        const auto parts = StateParts::Of(state.span(), n_found);
        Expect(std::ranges::equal(prompt->state.span(), StateParts::Join({&*parts, 1}, n_caches).span()), "the state");
      }
      Expect(!Fetched(cache, Numbers(1, kBlock - 1)), "too short");
      Expect(!Fetched(cache, Numbers(1, 2 * kBlock), 2 * kBlock - 15), "most is there");
      Expect(!Fetched(cache, Numbers(2, 2 * kBlock)), "other tokens");
    }
  });

  Test("a prompt that goes on writes only its new blocks, and shares them with others", [] {
    const Folder folder;
    std::map<fs::path, ino_t> before;
    for (size_t n = 1; n <= 10; n++) {
      SaveAll(folder, Prompt(Numbers(1, n * kBlock + 3)));
      const auto after = Inodes(folder);
      Expect(after.size() == n, std::to_string(after.size()) + " files of " + std::to_string(n) + " blocks");
      Expect(std::ranges::includes(after, before), "a file was written again");
      before = after;
    }
    auto fork = Numbers(1, 8 * kBlock);
    fork.back() = 0;
    SaveAll(folder, Prompt(fork));
    Expect(folder.files().size() == 11, "it has seven blocks in common");
    SaveAll(folder, Prompt(Numbers(1, 2 * kBlock), "another key"));
    Expect(folder.files().size() == 13, "nothing in common with another key");
  });

  Test("only what no file has is worth saving", [] {
    const Folder folder;
    PromptCache cache(Files(folder), 100, 1, true);
    Expect(!cache.Wants("key", Numbers(1, 2 * kBlock - 1)), "a single block");
    Expect(cache.Wants("key", Numbers(1, 2 * kBlock)), "new");
    cache.Save(Prompt(Numbers(1, 2 * kBlock)));
    Expect(!cache.Wants("key", Numbers(1, 2 * kBlock)), "the same again, maybe still to be written");
    Expect(!cache.Wants("key", Numbers(1, 4 * kBlock - 1)), "little more");
    Expect(cache.Wants("another key", Numbers(1, 2 * kBlock)), "of another key");
    Expect(cache.Wants("key", Numbers(1, 4 * kBlock)), "much more");
  });

  for (const bool cuts : {false, true}) {
    Test(std::string("a state ") + (cuts ? "of a form that is not known" : "that may not be cut") +
             " is used as a whole",
         [cuts] {
           const Folder folder;
           const auto save = [&](size_t n) {
             auto prompt = Prompt(Numbers(1, n));
             if (cuts) prompt.state.bytes[0] ^= 1;
             SaveAll(folder, std::move(prompt), kRoomy, cuts);
           };
           for (const size_t n : {3 * kBlock + 1, 4 * kBlock + 5}) save(n);
           Expect(folder.files().size() == 2, "two files");
           PromptCache cache(Files(folder), 16, 1, cuts);
           const auto found = Fetched(cache, Numbers(1, 4 * kBlock));
           Expect(found && found->tokens.size() == 3 * kBlock + 1, "the whole one");
           Expect(!Fetched(cache, Numbers(1, 3 * kBlock)), "a part of it");
           PromptCache other(Files(folder), 16, 2, cuts);
           Expect(!Fetched(other, Numbers(1, 4 * kBlock)), "of another number of caches");
         });
  }

  Test("a block that goes or is damaged ends what is found, and is written again", [] {
    for (const std::string what : {"is gone", "is damaged", "is a link"}) {
      const Folder folder;
      std::set<fs::path> beginning;
      SaveAll(folder, Prompt(Numbers(1, 2 * kBlock)));
      for (const auto& path : folder.files()) beginning.insert(path);
      SaveAll(folder, Prompt(Numbers(1, 3 * kBlock)));
      fs::path third;
      for (const auto& path : folder.files()) third = beginning.contains(path) ? third : path;
      SaveAll(folder, Prompt(Numbers(1, 4 * kBlock)));
      {
        PromptCache cache(Files(folder), 16, 1, true);
        if (what == "is damaged") {
          Damage(third, -1);
        } else {
          fs::rename(third, third.string() + ".bak");
          if (what == "is a link") fs::create_symlink(third.string() + ".bak", third);
        }
        const auto found = Fetched(cache, Numbers(1, 4 * kBlock));
        Expect(found && found->tokens == Numbers(1, 2 * kBlock), "what is before it, where it " + what);
        Expect(cache.Wants("key", Numbers(1, 4 * kBlock)), "it is forgotten");
        cache.Save(Prompt(Numbers(1, 4 * kBlock)));
      }
      PromptCache cache(Files(folder), 16, 1, true);
      const auto again = Fetched(cache, Numbers(1, 4 * kBlock));
      Expect(again && again->tokens.size() == 4 * kBlock, "it is written again");
    }
  });

  Test("a file of other tokens with the same number is neither used nor deleted", [] {
    const Folder folder;
    SaveAll(folder, Prompt(Numbers(1, kBlock)));
    const auto number = Files(folder).List()[0];
    auto other = Prompt(Numbers(1, kBlock));
    other.tokens.back()++;
    Files(folder).Write(number, {"key", 0, std::move(other.tokens), std::move(other.state)});
    PromptCache cache(Files(folder), 16, 1, true);
    Expect(!Fetched(cache, Numbers(1, kBlock)) && folder.files().size() == 1, "it is another's");
  });

  Test("all files keep to the limit, and the end of a prompt goes before its beginning", [] {
    const Folder folder;
    SaveAll(folder, Prompt(Numbers(1, 3 * kBlock)));
    const auto n_bytes = fs::file_size(folder.files()[0]);
    SaveAll(folder, Prompt(Numbers(1000, 2 * kBlock)), 4 * n_bytes);
    Expect(folder.files().size() == 4, "four files");
    PromptCache cache(Files(folder), 16, 1, true);
    const auto first = Fetched(cache, Numbers(1, 3 * kBlock));
    const auto second = Fetched(cache, Numbers(1000, 2 * kBlock));
    Expect(first && first->tokens.size() == 2 * kBlock && second && second->tokens.size() == 2 * kBlock,
           "the last one");
    SaveAll(folder, Prompt(Numbers(1, 5 * kBlock)), 4 * n_bytes);
    Expect(folder.files().size() == 4, "what is too large is not written");
    // The beginning of a prompt does not make room for its end.
    SaveAll(folder, Prompt(Numbers(1, 4 * kBlock)), 4 * n_bytes);
    const auto whole = Fetched(cache, Numbers(1, 4 * kBlock));
    Expect(folder.files().size() == 4 && whole && whole->tokens.size() >= 2 * kBlock, "it keeps its own");
    PromptCache again(Files(folder), 16, 1, true);
    Expect(Fetched(again, Numbers(1, 4 * kBlock))->tokens.size() == 4 * kBlock, "all four");
  });

  Test("processes that share a folder learn of each other's files", [] {
    const Folder folder;
    PromptCache one(Files(folder), 16, 1, true);
    SaveAll(folder, Prompt(Numbers(500, kBlock)));
    Expect(!Fetched(one, Numbers(500, kBlock)), "it knows the other's file before it looks");
    one.Save(Prompt(Numbers(1, kBlock)));
    std::unique_ptr<SavedPrompt> fetched;
    while (!fetched) fetched = Fetched(one, Numbers(500, kBlock));
    Expect(fetched->tokens.size() == kBlock, "the other's file");
  });

  Test("nobody waits for a disk that does not answer, and few wait to be read", [] {
    const Folder folder;
    SaveAll(folder, Prompt(Numbers(1, kBlock)));
    std::atomic<int> n_fetched = 0;
    int n_taken = 0;
    PromptCache cache(Files(folder), 16, 1, true);
    std::promise<void> answers;
    const std::shared_future<void> answered = answers.get_future();
    for (int i = 0; i < 1000; i++) {
      n_taken += cache.Fetch("key", Numbers(1, kBlock), 0, [&, answered](auto prompt) {
        answered.wait();
        n_fetched += prompt ? 1 : 0;
      });
    }
    Expect(n_taken >= 32 && n_taken <= 65, std::to_string(n_taken) + " of 1000 wait to be read");
    cache.Save(Prompt(Numbers(500, kBlock)));
    Expect(!cache.Wants("key", Numbers(500, kBlock)) && cache.Wants("key", Numbers(900, kBlock)), "it cannot be asked");
    Expect(!cache.Fetch("key", Numbers(500, kBlock), 0, [](auto) {}), "what is not written is found");
    answers.set_value();
    std::unique_ptr<SavedPrompt> fetched;
    while (!fetched) fetched = Fetched(cache, Numbers(500, kBlock));
    Expect(n_fetched == n_taken, std::to_string(n_fetched) + " were read");
  });

  Test("a disk that takes nothing more costs only what it does not take", [] {
    const Folder folder;
    PromptCache cache(Files(folder), 16, 1, true);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    const auto previous = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{100, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    cache.Save(Prompt(Numbers(1, kBlock)));
    while (!cache.Wants("key", Numbers(1, kBlock))) std::this_thread::yield();
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, previous);
    Expect(folder.files().empty(), "a part of a file is left");
    cache.Save(Prompt(Numbers(1, kBlock)));
    std::unique_ptr<SavedPrompt> fetched;
    while (!fetched) fetched = Fetched(cache, Numbers(1, kBlock));
  });

  Test("a folder that vanishes ends nothing", [] {
    const Folder folder;
    PromptCache cache(Files(folder), 16, 1, true);
    fs::remove_all(folder.path);
    cache.Save(Prompt(Numbers(1, kBlock)));
    Expect(!Fetched(cache, Numbers(1, kBlock)), "nothing");
  });
}

}  // namespace aana::test
