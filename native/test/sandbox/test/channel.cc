#include "sandbox/process/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
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
}

}  // namespace aana::test
