import type { Context } from 'koa';
import { allowedDeployments } from '../../../data/access/index.ts';
import { type ModelDirectory, onlyModels } from '../../../inference/deployments/index.ts';
import { callerOf } from './caller.ts';

/** Returns the models that the API key of a request allows to requests to a path. */
export function allowedModels(ctx: Context, models: ModelDirectory, path = ctx.path): ModelDirectory {
  return onlyModels(models, allowedDeployments(callerOf(ctx).scopes, path));
}
