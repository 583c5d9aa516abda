export { ANTHROPIC_API } from './anthropic-api.ts';
export { anthropicRoutes } from './anthropic-routes.ts';
export { MESSAGE_BATCHES } from './batches/message-batches.ts';
export { ANTHROPIC_MODELS } from './models/anthropic-models.ts';
