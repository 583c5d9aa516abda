import type { IdleField } from '../../openapi/index.ts';

/** Parameters that have no effect in any request for texts. */
export const COMMON_TEXT_IDLE = {
  prompt_cache_retention: { why: 'the deployment decides (prompt_cache)', isHarmless: true },
  prompt_cache_options: { why: 'the deployment decides (prompt_cache)', isHarmless: true },
  service_tier: { why: 'all requests are served alike', neutral: ['auto', 'default', 'standard_only'] },
  moderation: { why: 'texts are not moderated' },
  cache_prompt: { why: 'the deployment decides', neutral: [true] },
  add_special_tokens: { why: 'the model decides', neutral: [false] },
  skip_special_tokens: { why: 'answers have no special tokens', neutral: [true] },
  spaces_between_special_tokens: { why: 'answers have no special tokens', isHarmless: true },
  use_beam_search: { why: 'answers are sampled', neutral: [false] },
  best_of: { why: 'give n', neutral: [1] },
  length_penalty: { why: 'answers are sampled', neutral: [1] },
  include_stop_str_in_output: { why: 'answers end before a stop text', neutral: [false] },
  include_reasoning: { why: 'reasoning is always told', neutral: [true] },
  priority: { why: 'requests of a user are served in turn', neutral: [0] },
  truncate_prompt_tokens: { why: 'give overflow' },
  echo: { why: 'only completions have it', neutral: [false] },
} as const satisfies Readonly<Record<string, IdleField>>;

/** Parameters without effect in requests whose answers are not stored. */
export const TEXT_IDLE = {
  'stream_options.include_obfuscation': { why: 'events have no padding', isHarmless: true },
  user: { why: 'the user of the API key counts', isHarmless: true },
  safety_identifier: { why: 'the user of the API key counts', isHarmless: true },
  metadata: { why: 'answers are not stored', isHarmless: true },
  prompt_cache_key: { why: 'equal beginnings of prompts are found without it', isHarmless: true },
  store: { why: 'answers are not stored', neutral: [false] },
  ...COMMON_TEXT_IDLE,
} as const satisfies Readonly<Record<string, IdleField>>;
