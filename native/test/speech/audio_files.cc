#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "../check.h"
#include "core/whisper/audio/channel_mix.h"
#include "core/whisper/audio/growing_mix.h"
#include "tests.h"

namespace aana::test {
namespace {

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "aana-audio-XXXXXX";
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  ChannelFile Write(const std::string& name, const std::vector<float>& samples) const {
    std::ofstream(path_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(samples.data()),
               static_cast<std::streamsize>(samples.size() * sizeof(float)));
    return {path_ / name, static_cast<int64_t>(samples.size()), name};
  }
  void Append(const std::string& name, const std::vector<float>& samples) const {
    std::ofstream(path_ / name, std::ios::binary | std::ios::app)
        .write(reinterpret_cast<const char*>(samples.data()),
               static_cast<std::streamsize>(samples.size() * sizeof(float)));
  }
  void Text(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }
  void Remove(const std::string& name) const { std::filesystem::remove(path_ / name); }
  Growth End(int64_t expected, size_t n_channels, size_t first = 0) const {
    return {path_ / "end", expected, n_channels, first};
  }

 private:
  std::filesystem::path path_;
};

std::vector<float> ReadAll(const AudioSource& audio) {
  std::vector<float> samples(static_cast<size_t>(audio.size()));
  audio.Read(0, samples);
  return samples;
}

std::string AudioErrorOf(const std::function<void()>& run) {
  try {
    run();
  } catch (const AudioError& error) {
    return error.what();
  }
  return "it did not throw";
}

void ExpectText(const std::string& actual, const std::string& expected) {
  Expect(actual == expected, "it is \"" + actual + "\", not \"" + expected + "\"");
}

}  // namespace

void TestAudioFiles() {
  Test("ranges of a channel are read unchanged", [] {
    const Folder folder;
    const ChannelMix audio({folder.Write("a", {0.5F, -1, 0.25F, 1.5F})});
    std::vector<float> part(2);
    audio.Read(1, part);
    Expect(part == std::vector<float>{-1, 0.25F}, "other samples");
    Expect(ReadAll(audio) == std::vector<float>{0.5F, -1, 0.25F, 1.5F}, "other samples in all");
  });
  Test("channels are mixed to their mean, and a shorter one is silent after its end", [] {
    const Folder folder;
    const ChannelMix audio({folder.Write("a", {1, 0.5F, 1}), folder.Write("b", {0, 0.5F})});
    Expect(ReadAll(audio) == std::vector<float>{0.5F, 0.5F, 0.5F}, "other samples");
    std::vector<float> last(1);
    audio.Read(2, last);
    Expect(last.front() == 0.5F, "another sample at the end");
  });
  Test("eight channels are mixed", [] {
    const Folder folder;
    std::vector<ChannelFile> files;
    for (int i = 0; i < 8; i++)
      files.push_back(folder.Write("channel" + std::to_string(i), std::vector<float>(100, static_cast<float>(i))));
    for (const float sample : ReadAll(ChannelMix(files))) ExpectNear(sample, 3.5, 1e-6, "a sample");
  });
  Test("a channel without samples needs no file and counts as silent", [] {
    const Folder folder;
    Expect(ReadAll(ChannelMix({{"", 0, "none"}})).empty(), "samples without a file");
    Expect(ReadAll(ChannelMix({{"", 0, "none"}, folder.Write("a", {1})})) == std::vector<float>{0.5F}, "another mean");
    Expect(ChannelMix({}).size() == 0, "samples without channels");
  });
  Test("NaN and infinities become 0, and huge values are limited", [] {
    const Folder folder;
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> samples{std::nanf(""), infinity, -infinity, 3e38F, -3e38F, 0.5F};
    const std::vector<float> usable{0, 0, 0, 100, -100, 0.5F};
    Expect(ReadAll(ChannelMix({folder.Write("a", samples)})) == usable, "in a file");
    Expect(ReadAll(AudioInMemory(samples)) == usable, "in memory");
    Expect(ReadAll(ChannelMix({folder.Write("b", {infinity}), folder.Write("c", {1})})) == std::vector<float>{0.5F},
           "in a mix");
  });
  Test("a file with too few samples is refused with both numbers", [] {
    const Folder folder;
    auto file = folder.Write("short", {1, 2});
    file.n_samples = 3;
    ExpectText(AudioErrorOf([&] { ChannelMix{{file}}; }), "the audio short holds 2 samples, not 3");
  });
  Test("a missing file and a folder are refused by name", [] {
    ExpectText(AudioErrorOf([] { ChannelMix({{"/nowhere/a.f32", 1, "a"}}); }),
               "the audio a cannot be read: No such file or directory");
    const ChannelFile folder{std::filesystem::temp_directory_path(), 1, "b"};
    Expect(AudioErrorOf([&] {
             std::vector<float> sample(1);
             ChannelMix({folder}).Read(0, sample);
           }) != "it did not throw",
           "a folder was read");
  });
  Test("files that grow have the samples that all of them have, and those of their end", [] {
    const Folder folder;
    GrowingMix audio({folder.Write("a", {1, 0.5F}), folder.Write("b", {0})}, folder.End(4, 2));
    Expect(audio.is_growing() && audio.size() == 0 && audio.expected_size() == 4, "before the first look");
    audio.Refresh();
    Expect(audio.size() == 1 && ReadAll(audio) == std::vector<float>{0.5F}, "the shortest file counts");
    folder.Append("b", {0.5F, 1});
    folder.Append("a", {1, 1, 1});
    Expect(audio.size() == 1, "it grows only when it is asked to");
    audio.Refresh();
    Expect(audio.is_growing() && audio.size() == 3 && audio.expected_size() == 4, "after the second look");
    folder.Text("end", "5 3");
    audio.Refresh();
    Expect(!audio.is_growing() && audio.size() == 5 && audio.expected_size() == 5, "at the end");
    Expect(ReadAll(audio) == std::vector<float>{0.5F, 0.5F, 1, 0.5F, 0.5F}, "other samples");
    folder.Remove("a");
    audio.Refresh();
    Expect(audio.size() == 5, "what is complete changes no more");
  });
  Test("one of several files that grow has its own end", [] {
    const Folder folder;
    GrowingMix audio({folder.Write("b", {1, 1})}, folder.End(1, 3, 1));
    audio.Refresh();
    Expect(audio.size() == 2 && audio.expected_size() == 2, "more samples than expected");
    folder.Text("end", "7 2 9");
    audio.Refresh();
    Expect(!audio.is_growing() && audio.size() == 2, "another end");
  });
  Test("a file that grows may end without samples", [] {
    const Folder folder;
    GrowingMix audio({folder.Write("a", {})}, folder.End(100, 1));
    folder.Text("end", "0");
    audio.Refresh();
    Expect(!audio.is_growing() && audio.size() == 0, "samples");
  });
  Test("a file that is removed before its end is an error, and so is a missing one", [] {
    const Folder folder;
    const auto file = folder.Write("a", {1});
    GrowingMix audio({file}, folder.End(2, 1));
    audio.Refresh();
    folder.Remove("a");
    ExpectText(AudioErrorOf([&] { audio.Refresh(); }), "the audio a was removed before it was complete");
    ExpectText(AudioErrorOf([&] { GrowingMix({file}, folder.End(2, 1)); }),
               "the audio a cannot be read: No such file or directory");
  });
  Test("an end that does not fit the files is an error", [] {
    for (const std::string end : {"", "1", "1 x", "1 -1", "1 1 1", "x"}) {
      const Folder folder;
      GrowingMix audio({folder.Write("a", {1}), folder.Write("b", {1})}, folder.End(2, 2));
      folder.Text("end", end);
      ExpectText(AudioErrorOf([&] { audio.Refresh(); }), "the end of an audio does not say the length of each channel");
    }
    const Folder folder;
    GrowingMix audio({folder.Write("a", {1})}, folder.End(2, 1));
    folder.Text("end", "3");
    ExpectText(AudioErrorOf([&] { audio.Refresh(); }), "the audio a holds 1 samples, not 3");
  });
  Test("a file that is truncated while it is read is an error with the number of samples left", [] {
    const Folder folder;
    const auto file = folder.Write("cut", std::vector<float>(1000, 0.5F));
    const ChannelMix audio({file});
    std::filesystem::resize_file(file.path, 400 * sizeof(float));
    std::vector<float> part(100);
    audio.Read(300, part);
    ExpectText(AudioErrorOf([&] { audio.Read(350, part); }), "the audio cut holds 400 samples, not 1000");
  });
}

}  // namespace aana::test
