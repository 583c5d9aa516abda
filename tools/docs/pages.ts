import { renderAnthropicDocs } from './anthropic.ts';
import { renderConfigurationDocs } from './configuration.ts';
import { renderErrorDocs } from './errors.ts';
import { renderMetricsDocs } from './metrics.ts';
import { renderOpenAiDocs } from './openai.ts';

/** The generated pages in `docs/`. */
export const PAGES: Readonly<Record<string, () => string>> = {
  'anthropic-compatibility.md': renderAnthropicDocs,
  'configuration.md': renderConfigurationDocs,
  'errors.md': renderErrorDocs,
  'metrics.md': renderMetricsDocs,
  'openai-compatibility.md': renderOpenAiDocs,
};
