import type { RouteGroup } from '../http/options.ts';
import type { OpenAiRoutesOptions } from '../openai/index.ts';
import { messageBatchRoutes } from './batches/batch-routes.ts';
import { messageRoutes } from './messages/message-routes.ts';

/** Returns the routes of Anthropic's API. They have the settings of OpenAI's, and are off together with those. */
export function anthropicRoutes(openai: OpenAiRoutesOptions): RouteGroup {
  return (router, http) => {
    if (!openai.enabled) return;
    const options = { ...http, openai };
    messageRoutes(router, options);
    messageBatchRoutes(router, options);
  };
}
