#include "sandbox/commands.h"

#include <stdexcept>
#include <unistd.h>

#include "sandbox/library/engine.h"
#include "sandbox/process/confinement.h"
#include "sandbox/process/filter.h"

namespace aana::sandbox {

void ReportConfinement(const Settings& settings) {
  DropInheritance(STDERR_FILENO + 1);
  const EnginePtr engine = MakePool(settings, settings.slots, 0);
  auto confinement = ConfineProcess(settings.total_bytes);
  confinement.has_filter = FilterSystemCalls(Work::kGuests);
  const auto text = JsonOf(confinement);
  if (write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("the report cannot be written");
}

}  // namespace aana::sandbox
