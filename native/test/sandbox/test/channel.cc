#include "sandbox/process/channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../check.h"
#include "tests.h"

namespace aana::test {

using namespace sandbox;

void TestChannel() {
  Test("what has been sent is not kept while more waits", [] {
    int ends[2];
    Expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no sockets");
    Channel channel(ends[0]);
    const std::string more(size_t{256} << 10, 'x');
    std::string taken(more.size(), '\0');
    // The other end takes as much as is sent, but begins later.
    for (int i = 0; i < 8; i++) channel.out() += more;
    for (int i = 0; i < 100; i++) {
      channel.out() += more;
      Expect(channel.Exchange(false), "it is closed");
      for (size_t got = 0; got < more.size();) {
        const ssize_t some = read(ends[1], taken.data(), more.size() - got);
        Expect(some > 0, "nothing was sent");
        got += static_cast<size_t>(some);
        Expect(channel.Exchange(false), "it is closed");
      }
    }
    Expect(channel.out().size() < size_t{6} << 20, std::to_string(channel.out().size()) + " bytes are kept");
    close(ends[0]);
    close(ends[1]);
  });
  Test("all that waits is received at once", [] {
    int ends[2];
    Expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no sockets");
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    std::string sent;
    for (int i = 0; i < 100; i++) {
      FrameWriter frame(sent, 1, FrameKind::kAnswer);
      frame.cbor().Bytes(std::string(1000, 'x'));
      frame.Commit();
    }
    Expect(write(ends[1], sent.data(), sent.size()) == static_cast<ssize_t>(sent.size()), "the socket is too small");
    Channel channel(ends[0]);
    Expect(channel.Exchange(false), "it is closed");
    int frames = 0;
    for (Frame frame{}; channel.Next(frame);) frames++;
    Expect(frames == 100, std::to_string(frames) + " frames");
    close(ends[0]);
    close(ends[1]);
  });
}

}  // namespace aana::test
