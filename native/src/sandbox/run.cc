#include "sandbox/run.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "sandbox/commands.h"
#include "sandbox/library/owned.h"

namespace aana::sandbox {

int Run(int count, char** arguments) {
  try {
    const char* mode = count > 1 ? arguments[1] : "";
    char** const end = arguments + count;
    char** const first = std::min(arguments + 2, end);
    char** const separator = std::find_if(first, end, [](const char* one) { return strcmp(one, "--") == 0; });
    const Settings settings = ReadSettings(static_cast<int>(separator - first), first);
    if (strcmp(mode, "describe") == 0) {
      RunCompiler(settings, false);
    } else if (strcmp(mode, "compile") == 0) {
      RunCompiler(settings, true);
    } else if (strcmp(mode, "serve") == 0) {
      Serve(settings);
    } else if (strcmp(mode, "confinement") == 0) {
      ReportConfinement(settings);
    } else if (strcmp(mode, "confine") == 0 && end - separator > 1) {
      RunConfined(settings, separator + 1);
    } else {
      fprintf(stderr,
              "usage: aana-sandbox describe|compile|serve|confinement [name=value...]\n"
              "       aana-sandbox confine [name=value...] -- program [argument...]\n");
      return 3;
    }
    return 0;
  } catch (const Unloadable& error) {
    fprintf(stderr, "%s\n", error.what());
    return 5;
  } catch (const Refused& error) {
    fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    fprintf(stderr, "no memory is left\n");
    return 3;
  } catch (const std::exception& error) {
    fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}

}  // namespace aana::sandbox
