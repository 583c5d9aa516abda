import * as z from 'zod';
import { whole } from '../../../base/core/fields.ts';
import { invalidValue, type Model, type ModelList } from '../../openai/index.ts';
import { page, pageOf } from '../pages.ts';

const optionalId = (what: string) => z.string().max(1000).optional().describe(what);

/** The query of `GET /v1/models` of Anthropic's API. */
export const ModelsQuery = z.object({
  limit: whole({ min: 1, max: 1000, default: 20 }, 'With `anthropic-version`: models of a page. Default: 20.'),
  after_id: optionalId('With `anthropic-version`: the id of the model before the page.'),
  before_id: optionalId('With `anthropic-version`: the id of the model behind the page.'),
});
type ModelsQuery = z.output<typeof ModelsQuery>;

/** A model in the answers of `/v1/models` to requests with the header `anthropic-version`. */
export const ModelInfo = z.object({
  type: z.literal('model'),
  id: z.string().describe('The name for requests: a deployment, an alias, or `deployment:adapter`.'),
  display_name: z.string(),
  created_at: z.string().describe('The time at which the server started, in ISO 8601.'),
  capabilities: z.null().describe('Not told.'),
  max_input_tokens: z.null().describe('Not told.'),
  max_tokens: z.null().describe('Not told.'),
  lifecycle: z.literal('active'),
  line: z.null(),
  deprecated_at: z.null(),
  retires_at: z.null(),
});
type ModelInfo = z.input<typeof ModelInfo>;

export const ModelInfoPage = pageOf(ModelInfo);

/** Returns a model of OpenAI's API as one of Anthropic's. */
export function modelInfoOf({ id, created }: Pick<z.input<typeof Model>, 'id' | 'created'>): ModelInfo {
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: new Date(created * 1000).toISOString(),
    capabilities: null,
    max_input_tokens: null,
    max_tokens: null,
    lifecycle: 'active',
    line: null,
    deprecated_at: null,
    retires_at: null,
  };
}

/** Returns a page of a list. Throws `InvalidParameter` for an id that is not in the list. */
export function modelPage(
  { data: models }: z.input<typeof ModelList>,
  query: ModelsQuery,
): z.input<typeof ModelInfoPage> {
  const { after_id: after, before_id: before } = query;
  const indexOf = (param: 'after_id' | 'before_id', id: string): number => {
    const index = models.findIndex((model) => model.id === id);
    if (index < 0) throw invalidValue(param, 'no model has this id');
    return index;
  };
  const between = models.slice(
    after === undefined ? 0 : indexOf('after_id', after) + 1,
    before === undefined ? undefined : indexOf('before_id', before),
  );
  return page(between.map(modelInfoOf), query);
}
