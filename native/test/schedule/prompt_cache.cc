// Saved prompts on disk.
#include "core/llama/prompt_cache/prompt_cache.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../check.h"
#include "helpers.h"
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

SavedPrompt Prompt(std::vector<TokenId> tokens, size_t n_bytes = 1000, const std::string& key = "key") {
  StateBytes state(n_bytes);
  std::memset(state.bytes.get(), static_cast<int>(tokens.size() % 256), n_bytes);
  return {key, std::move(tokens), std::move(state)};
}

PromptFiles Files(const Folder& folder, uint64_t max_bytes = kRoomy) { return {folder.path, "model", max_bytes}; }

// What a cache reads; null when it has nothing.
std::unique_ptr<SavedPrompt> Fetched(PromptCache& cache, const std::vector<TokenId>& tokens, size_t n_there = 0) {
  const auto match = cache.Find("key", tokens, n_there, 1U << 20);
  if (!match) return nullptr;
  std::promise<std::unique_ptr<SavedPrompt>> promise;
  cache.Fetch(*match, [&](auto prompt) { promise.set_value(std::move(prompt)); });
  return promise.get_future().get();
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
  Test("a saved prompt is read as it was written, also by another process", [] {
    const Folder folder;
    PromptFiles(folder.path, "model", kRoomy).Write(Prompt(Numbers(1, 40)));
    const auto files = Files(folder).List();
    Expect(files.size() == 1 && files[0].tokens == Numbers(1, 40) && files[0].key == "key", "the head");
    const auto prompt = Files(folder).Read(files[0].name);
    Expect(prompt && prompt->tokens == Numbers(1, 40) && prompt->state.size == 1000 && prompt->state.bytes[999] == 40,
           "the prompt");
    Expect(PromptFiles(folder.path, "another model", kRoomy).List().empty(), "another model has no file");
    const auto permissions = fs::status(folder.files()[0]).permissions();
    Expect((permissions & (fs::perms::group_all | fs::perms::others_all)) == fs::perms::none,
           "only this user may read it");
  });

  Test("damaged files are deleted, others are left alone", [] {
    for (const std::streamoff at : {0, 9, 17, 30, 45, 60, 100, -1000, -500, -1}) {
      const Folder folder;
      auto files = Files(folder);
      const auto name = files.Write(Prompt(Numbers(1, 40)));
      Damage(folder.path / name, at);
      Expect(!files.Read(name) && folder.files().empty(), "damage at " + std::to_string(at));
    }
    for (const uintmax_t n_bytes : {0, 1, 47, 48, 60, 200, 1000}) {
      const Folder folder;
      auto files = Files(folder);
      const auto name = files.Write(Prompt(Numbers(1, 40)));
      fs::resize_file(folder.path / name, n_bytes);
      Expect(files.List().empty() && folder.files().empty(), "cut at " + std::to_string(n_bytes));
    }
    const Folder folder;
    auto files = Files(folder);
    const auto name = files.Write(Prompt(Numbers(1, 40)));
    std::ofstream(folder.path / name, std::ios::app) << "more";
    std::ofstream(folder.path / "notes.prompt") << "mine";
    auto other_name = name;
    other_name[20] = other_name[20] == 'a' ? 'b' : 'a';
    fs::create_directory(folder.path / other_name);
    other_name[21] = other_name[21] == 'a' ? 'b' : 'a';
    fs::create_symlink("/etc/passwd", folder.path / other_name);
    Expect(files.List().empty() && folder.files().size() == 3, "others are left alone");
    PromptFiles(folder.path, "model", 2000).Write(Prompt(Numbers(1, 40)));
    PromptFiles(folder.path, "model", 2000).Write(Prompt(Numbers(2, 40)));
    Expect(folder.files().size() == 4, "also when room is made");
  });

  Test("all files together keep to the limit, and the one that was used the longest ago goes first", [] {
    const Folder folder;
    auto files = Files(folder, 3500);
    std::vector<std::string> names;
    for (const TokenId first : {100, 200, 300}) {
      names.push_back(files.Write(Prompt(Numbers(first, 10))));
      fs::last_write_time(folder.path / names.back(),
                          fs::file_time_type::clock::now() - std::chrono::seconds(1000 - first));
    }
    files.Touch(names[0]);
    names.push_back(files.Write(Prompt(Numbers(400, 10))));
    const auto has = [&](size_t i) { return fs::exists(folder.path / names[i]); };
    Expect(has(0) && !has(1) && has(2) && has(3), "the second is deleted");
    Expect(files.Write(Prompt(Numbers(1, 10), 4000)).empty() && folder.files().size() == 3,
           "one that is too large is not written");
  });

  Test("files that writers left unfinished are deleted after a while", [] {
    const Folder folder;
    Files(folder);
    for (const auto* name : {"old.prompt.tmp", "new.prompt.tmp"}) std::ofstream(folder.path / name) << "x";
    fs::last_write_time(folder.path / "old.prompt.tmp", fs::file_time_type::clock::now() - std::chrono::hours(1));
    Files(folder);
    Expect(folder.files().size() == 1 && folder.files()[0].filename() == "new.prompt.tmp", "one of two");
  });

  Test("the longest beginning is found, also after a restart", [] {
    const Folder folder;
    {
      PromptCache cache(Files(folder), 16, false);
      cache.Save(Prompt(Numbers(1, 40)));
      cache.Save(Prompt(Numbers(1000, 100)));
      cache.Save(Prompt(Numbers(1, 80), 1000, "another key"));
    }
    PromptCache cache(Files(folder), 16, false);
    const auto prompt = Fetched(cache, Numbers(1, 70));
    Expect(prompt && prompt->tokens == Numbers(1, 40), "the one with the key");
    Expect(!Fetched(cache, Numbers(1, 15)), "too short");
    Expect(!Fetched(cache, Numbers(1, 70), 30), "most is there");
    Expect(!cache.Find("key", Numbers(1000, 200), 0, 99), "too long for the context");
    Expect(Fetched(cache, Numbers(1000, 20)) != nullptr, "a part of it");
  });

  Test("only what no file has is worth saving, and a longer prompt replaces its beginning", [] {
    const Folder folder;
    {
      PromptCache cache(Files(folder), 16, false);
      Expect(!cache.Wants("key", Numbers(1, 15)), "short");
      Expect(cache.Wants("key", Numbers(1, 40)), "new");
      cache.Save(Prompt(Numbers(1, 40)));
      Expect(!cache.Wants("key", Numbers(1, 40)), "the same again, maybe still to be written");
      Expect(!cache.Wants("key", Numbers(1, 50)), "little more");
      Expect(cache.Wants("another key", Numbers(1, 40)), "of another key");
      Expect(cache.Wants("key", Numbers(1, 60)), "much more");
      cache.Save(Prompt(Numbers(1, 60)));
    }
    const auto files = Files(folder).List();
    Expect(files.size() == 1 && files[0].tokens.size() == 60, "one file");
  });

  Test("where no part can be taken back, only whole prompts are used", [] {
    const Folder folder;
    {
      PromptCache cache(Files(folder), 16, true);
      cache.Save(Prompt(Numbers(1, 40)));
      Expect(cache.Wants("key", Numbers(1, 39)), "a part of it");
      cache.Save(Prompt(Numbers(1, 60)));
    }
    PromptCache cache(Files(folder), 16, true);
    const auto prompt = Fetched(cache, Numbers(1, 59));
    Expect(prompt && prompt->tokens.size() == 40, "the whole one");
  });

  Test("a file that goes or is damaged later is nothing to fetch", [] {
    for (const std::string what : {"is gone", "is damaged", "is a link"}) {
      const Folder folder;
      {
        PromptCache(Files(folder), 16, false).Save(Prompt(Numbers(1, 40)));
      }
      PromptCache cache(Files(folder), 16, false);
      const auto path = folder.files()[0];
      if (what == "is damaged") {
        Damage(path, -1);
      } else {
        fs::rename(path, path.string() + ".bak");
        if (what == "is a link") fs::create_symlink(path.string() + ".bak", path);
      }
      Expect(cache.Find("key", Numbers(1, 50), 0, 1000).has_value(), "it was there");
      Expect(!Fetched(cache, Numbers(1, 50)), "it is not");
      Expect(!cache.Find("key", Numbers(1, 50), 0, 1000) && cache.Wants("key", Numbers(1, 50)), "it is forgotten");
    }
  });

  Test("processes that share a folder learn of each other's files", [] {
    const Folder folder;
    PromptCache one(Files(folder), 16, false);
    {
      PromptCache(Files(folder), 16, false).Save(Prompt(Numbers(500, 40)));
    }
    one.Save(Prompt(Numbers(1, 40)));
    for (int i = 0; i < 200 && !one.Find("key", Numbers(500, 50), 0, 1000); i++)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    Expect(Fetched(one, Numbers(500, 50)) != nullptr, "the other's file");
  });

  Test("a folder that vanishes ends nothing", [] {
    const Folder folder;
    PromptCache cache(Files(folder), 16, false);
    fs::remove_all(folder.path);
    cache.Save(Prompt(Numbers(1, 40)));
    Expect(!Fetched(cache, Numbers(1, 40)), "nothing");
  });
}

}  // namespace aana::test
