import { AanaError } from '../../../base/core/errors.ts';
import type { BatchError } from './batch-object.ts';
import type { Capability } from '../models/capabilities.ts';
import { resolveModel } from '../models/model-names.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import { type BatchLine, type LineRules, readLine, shown, WrongLine } from './batch-line.ts';
import type { JsonLine } from './json-lines.ts';

/** What the input of a batch must comply with. */
export interface InputRules extends LineRules {
  readonly maxRequests: number;
  /** The models that the key of the batch allows. */
  readonly models: ModelDirectory;
  /** What the models must be able to do. */
  readonly capability: Capability;
}

export interface CheckedInput {
  /** The number of requests. */
  readonly total: number;
  /** The model of all requests; null for several models. */
  readonly model: string | null;
  /** At most {@link MAX_ERRORS}. */
  readonly errors: readonly BatchError[];
}

/** Most errors of an input that are told. The rest of the input is not read. */
const MAX_ERRORS = 100;

/** Checks all lines of an input before any of them runs. */
export async function checkInput(
  lines: AsyncIterable<JsonLine>,
  rules: InputRules,
  signal: AbortSignal,
): Promise<CheckedInput> {
  const errors: BatchError[] = [];
  const ids = new Set<string>();
  const models = new Set<string>();
  let total = 0;
  for await (const line of lines) {
    signal.throwIfAborted();
    total += 1;
    if (total > rules.maxRequests) {
      errors.push(tooMany(rules.maxRequests));
      break;
    }
    try {
      const request = readLine(line, rules);
      checkUnique(request, ids);
      models.add(modelOf(request, models, rules));
    } catch (error) {
      if (!(error instanceof WrongLine)) throw error;
      errors.push(error.entry);
    }
    if (errors.length === MAX_ERRORS) break;
  }
  if (total === 0) errors.push({ code: 'empty_file', line: null, message: 'The file has no requests.', param: null });
  const [model = null] = models;
  return { total, model: models.size === 1 ? model : null, errors };
}

function checkUnique({ line, customId }: BatchLine, ids: Set<string>): void {
  if (ids.has(customId))
    throw new WrongLine({
      code: 'duplicate_custom_id',
      line,
      message: `The custom_id ${shown(customId)} is that of an earlier line. It must be unique in the batch.`,
      param: 'custom_id',
    });
  ids.add(customId);
}

/** Returns the name of the model of a request. `known` are names that have been found. */
function modelOf({ line, body }: BatchLine, known: ReadonlySet<string>, { models, capability }: InputRules): string {
  const { model } = body;
  if (typeof model !== 'string')
    throw new WrongLine({
      code: 'missing_required_parameter',
      line,
      message: "Missing required parameter: 'body.model'.",
      param: 'body.model',
    });
  try {
    if (!known.has(model)) resolveModel(models, model, capability);
    return model;
  } catch (error) {
    if (!(error instanceof AanaError)) throw error;
    throw new WrongLine({ code: 'model_not_found', line, message: error.message, param: 'body.model' });
  }
}

function tooMany(maxRequests: number): BatchError {
  return {
    code: 'too_many_requests',
    line: maxRequests + 1,
    message: `The file has more than ${maxRequests} requests (openai.batches.maximum_requests).`,
    param: null,
  };
}
