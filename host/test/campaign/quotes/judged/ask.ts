// `npm run campaign:claims -- model…`: asks models the questions of `questions.json`, each about its text, and writes
// each answer as a line of JSON: a claim with its quotations. Whether a quotation supports its claim is judged by hand;
// `answers.json` has the judged answers, and docs/benchmarks.md what they say.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../../base/core/package-root.ts';
import type { ChatOutputWithDetails } from '../../../../base/schemas/index.ts';
import { deployed } from '../../../../inference/engines/fixtures/real-models.ts';
import { testEnvironment } from '../../../environment.ts';
import { quotationProblem } from '../check-quotations.ts';

interface Text {
  readonly text: string;
  readonly sentences: readonly string[];
  readonly questions: readonly string[];
}

const SECONDS_PER_WORD = 0.4;
const MOST_WORDS = 30;
const FORM = {
  type: 'object',
  properties: {
    quotes: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'string', format: 'quote' } },
    claim: { type: 'string', minLength: 1, maxLength: 200 },
  },
  required: ['quotes', 'claim'],
  additionalProperties: false,
};

const texts = JSON.parse(
  readFileSync(join(packageRoot, 'host/test/campaign/quotes/judged/questions.json'), 'utf8'),
) as readonly Text[];

Object.assign(process.env, await testEnvironment(process.env));
for (const model of process.argv.slice(2)) {
  const manager = deployed({
    type: 'LlamaTextGenerationDeployment',
    user_config: { model_id: model, model_kwargs: { n_ctx: 4096, n_threads: 1 } },
  });
  try {
    await manager.start();
    for (const { text, sentences, questions } of texts) {
      const parts = timed(sentences);
      for (const question of questions) {
        const { message, details } = (await manager.handle('model').call('chat', {
          dialog: dialogAbout(parts, question),
          details: true,
          sampling_params: {
            temperature: 0,
            max_tokens: 200,
            structured_outputs: { json: FORM, quote_of: [parts], max_words: MOST_WORDS },
          },
        })) as ChatOutputWithDetails;
        for (const quotation of details!.quotations!) {
          const problem = quotationProblem(quotation, [parts], 5);
          if (problem !== undefined) throw new Error(`${quotation.text}: ${problem}`);
        }
        const { quotes, claim } = JSON.parse(message.content) as { quotes: string[]; claim: string };
        process.stdout.write(`${JSON.stringify({ model, text, question, claim, quotes })}\n`);
      }
    }
  } finally {
    await manager.shutdown({ graceMs: 0 });
  }
}

function timed(sentences: readonly string[]) {
  let time = 0;
  return sentences.map((sentence) => {
    const start = time;
    time += sentence.split(' ').length * SECONDS_PER_WORD;
    return { text: ` ${sentence}`, start, end: time };
  });
}

/** The dialog of the plugin `video-chat`, with the question behind the text. */
function dialogAbout(parts: ReturnType<typeof timed>, question: string) {
  const timeline = parts.map(({ text, start, end }) =>
    JSON.stringify({ start_time: start, end_time: end, audio_transcript: text.trim() }),
  );
  const content = [
    `Timeline:\n[${timeline.join(',\n')}]`,
    `Question: ${question}`,
    'Answer in JSON: first the "quotes", which say word for word what is said, and then the "claim" that they show, ' +
      'a short sentence in your own words that answers the question.',
  ].join('\n\n');
  const system =
    'You answer questions about a video. You read its timeline in JSON: `start_time` and `end_time` are seconds, and ' +
    '`audio_transcript` is what is said then. Answer briefly, and only with what the timeline says.';
  return {
    messages: [
      { role: 'system', content: system },
      { role: 'user', content },
    ],
  };
}
