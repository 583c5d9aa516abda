import { ModelInfo, modelInfoOf, ModelInfoPage, modelPage, ModelsQuery } from './models.ts';
import type { OtherModels } from '../../openai/index.ts';
import { isFromAnthropicClient } from '../anthropic-requests.ts';

/** The models in the shapes of Anthropic's API, which has the paths of OpenAI's for them. */
export const ANTHROPIC_MODELS: OtherModels = {
  isAsked: isFromAnthropicClient,
  whose: 'with the header `anthropic-version` in the shape of Anthropic’s API',
  query: ModelsQuery,
  page: { schema: ModelInfoPage, of: (models, query) => modelPage(models, ModelsQuery.parse(query)) },
  model: { schema: ModelInfo, of: modelInfoOf },
};
