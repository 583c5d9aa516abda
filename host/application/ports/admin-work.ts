import type { Config } from '../../config/index.ts';
import type { ControlledApplication } from '../../control/index.ts';
import type { Logger } from '../../core/log/logger.ts';
import { AnyTasks, AnyWebhooks } from '../../http/index.ts';
import type { Services } from '../services.ts';

/** A command has no key and no user of the application. */
const COMMAND = { by: { key: 'command' } };

/** Returns the tasks and webhooks of all users, as commands see and change them. */
export function adminWork(
  { tasks, webhooks }: Pick<Services, 'tasks' | 'webhooks'>,
  { api_service: service, include_stacktrace: includeStacktrace }: Pick<Config, 'api_service' | 'include_stacktrace'>,
  log: Logger,
): Pick<ControlledApplication, 'tasks' | 'webhooks'> {
  const options = { showsContents: service.admins_see_contents, includeStacktrace, log };
  return {
    tasks: tasks && new AnyTasks({ ...options, tasks }, COMMAND),
    webhooks: webhooks && new AnyWebhooks({ ...options, webhooks }, COMMAND),
  };
}
