#pragma once

#ifdef __linux__
#include <pthread.h>
#endif

namespace aana {

// Names the calling thread for tools such as top and gdb. At most 15 characters.
inline void NameThread([[maybe_unused]] const char* name) {
#ifdef __linux__
  pthread_setname_np(pthread_self(), name);
#endif
}

}  // namespace aana
