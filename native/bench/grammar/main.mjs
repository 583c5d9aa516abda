/**
 * Compiling grammars and finding the tokens that may follow, with the engine's automaton, XGrammar and llama.cpp's
 * grammar: the same vocabularies and the same texts, one thread. Prints JSON.
 *
 *   npm run build && npx aana-host build-native
 *   python3 -m venv xgr && xgr/bin/pip install --no-deps xgrammar && xgr/bin/pip install apache-tvm-ffi numpy pydantic
 *   typing-extensions node native/bench/grammar/main.mjs --xgrammar xgr/bin/python --rounds 5 path/to/model.gguf… >
 *   result.json
 */
import { execFileSync } from 'node:child_process';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { machineLoad, median, quantile, reportHead, round } from '../../../dist/host/bench/report.js';
import { structuredGrammar } from '../../../dist/host/base/structured-output/index.js';
import { buildProgram, cannotBuild } from '../../../dist/native/lib/fixtures/test-program.js';
import { cases } from './cases.mjs';

const packageRoot = fileURLToPath(new URL('../../..', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { xgrammar: { type: 'string' }, rounds: { type: 'string', default: '5' } },
});
const reason = cannotBuild(packageRoot);
if (reason !== undefined) throw new Error(`aana-grammar-bench cannot be built: ${reason}`);
if (positionals.length === 0)
  throw new Error('missing model; usage: main.mjs [--xgrammar python] [--rounds 5] path/to/model.gguf…');

const grammars = cases.map(({ form }) => structuredGrammar(form));

function runEngine(model) {
  const parts = cases.flatMap(({ texts, others }, i) => {
    const grammar = Buffer.from(grammars[i]);
    const lines = [...texts, ...others].map((text) => Buffer.from(text)).flatMap((text) => [`${text.length}\n`, text]);
    return [`${grammar.length} ${texts.length} ${others.length}\n`, grammar, ...lines];
  });
  const input = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const program = buildProgram(packageRoot, 'aana-grammar-bench');
  return JSON.parse(execFileSync(program, [model, values.rounds], { input, encoding: 'utf8', maxBuffer: 2 ** 28 }));
}

function runXgrammar({ pieces, ends, cases: measured }) {
  const asked = cases.map(({ form, texts, others }, i) => ({
    form,
    texts,
    others,
    grammar: grammars[i],
    tokens: measured[i].walks?.map(({ tokens }) => tokens) ?? [],
  }));
  const input = JSON.stringify({ pieces, ends, cases: asked, rounds: Number(values.rounds) });
  const script = fileURLToPath(new URL('xgrammar_side.py', import.meta.url));
  return JSON.parse(
    execFileSync(values.xgrammar, [script], {
      input,
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
}

/** Median, 99th percentile and most of the times before all tokens of all texts. */
function spread(walks, name) {
  const times = walks.flatMap((walk) => walk[name]).filter((time) => time !== null);
  return times.length === 0
    ? null
    : { median: round(median(times)), p99: round(quantile(times, 0.99)), most: round(Math.max(...times)) };
}

function summary(measured) {
  if (measured === null || measured.refused) return measured;
  const { compile_us, bytes, walks, takes, takes_others: others } = measured;
  const wrong = [...takes.filter((is) => !is), ...others.filter((is) => is)].length;
  const read = walks.filter((walk) => walk !== null);
  return {
    compileUs: round(compile_us, 1),
    firstTokenUs: read[0] ? round(read[0].first_us[0], 1) : null,
    // What the first answer waits for in all: the compilation, and the masks before all tokens of the first text.
    firstAnswerUs: read[0] ? round(compile_us + read[0].first_us.reduce((a, b) => a + b, 0), 1) : null,
    maskOfNewStateUs: spread(read, 'first_us'),
    maskUs: spread(read, 'again_us'),
    maskAndLogitsUs: spread(read, 'applied_us'),
    kilobytes: round(bytes / 1024, 1),
    wrongTexts: wrong,
    unreadTexts: walks.length - read.length,
  };
}

/** Places of the texts that both have read at which both allow the same tokens. */
function sameMasks(ours, theirs) {
  if (!ours.walks || !theirs?.walks) return null;
  const places = theirs.walks.flatMap(
    (walk, i) => walk?.sums.map((sum, place) => sum === ours.walks[i].sums[place]) ?? [],
  );
  return { same: places.filter((is) => is).length, all: places.length };
}

function measure(model) {
  const engine = runEngine(model);
  const xgrammar = values.xgrammar === undefined ? null : runXgrammar(engine);
  return {
    model: basename(model),
    vocabulary: engine.pieces.length,
    vocabularyUs: { ours: engine.trie_us, xgrammar: xgrammar && round(xgrammar.tokenizer_us, 1) },
    xgrammarVersion: xgrammar?.version ?? null,
    // Of one call from Python, which is in each time of XGrammar.
    xgrammarCallUs: xgrammar && round(xgrammar.call_overhead_us),
    cases: cases.map(({ name }, i) => {
      const ours = engine.cases[i];
      const theirs = xgrammar?.cases[i];
      return {
        name,
        places: ours.walks?.reduce((sum, { tokens }) => sum + tokens.length + 1, 0) ?? 0,
        ours: summary(ours),
        xgrammar: theirs ? summary(theirs.same_grammar) : null,
        xgrammarOwnGrammar: theirs ? summary(theirs.own_grammar) : null,
        llamaCpp: ours.walks
          ? { compileUs: ours.llama_cpp_compile_us, maskUs: spread(ours.walks.slice(0, 1), 'llama_cpp_us') }
          : null,
        sameMasks: sameMasks(ours, theirs?.same_grammar),
      };
    }),
  };
}

const loadBefore = machineLoad();
const models = positionals.map(measure);
process.stdout.write(
  `${JSON.stringify({ ...reportHead('grammar', loadBefore), rounds: Number(values.rounds), models }, null, 2)}\n`,
);
