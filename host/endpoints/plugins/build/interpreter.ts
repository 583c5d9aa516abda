import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { loadInterpreter } from './build-tools.ts';
import { hostStandIn } from './guest-world.ts';

/** The state of the promise of a module that has been evaluated. */
const FULFILLED = 1;

/**
 * Evaluates a bundle of a plugin, and returns the text that its function `globalThis[name]` returns. The interpreter is
 * that of components, QuickJS, and runs in the WebAssembly of this process. A bundle reaches nothing but its memory,
 * the time and random bytes; functions of the host throw. `tools` is the folder in whose `node_modules` the interpreter
 * is. Rejects when the bundle throws.
 */
export async function evaluateBundle(code: string, name: string, tools: string): Promise<string> {
  const { QuickJS, EvalFlags, file } = await loadInterpreter(tools);
  // A bundle runs for a tenth of a second. V8 would take four times as long to make the interpreter faster.
  setFlagsFromString('--no-wasm-tier-up --no-wasm-dynamic-tiering');
  using interpreter = await QuickJS.create({ wasm: await readFile(file), moduleLoader: { load: hostStandIn } });
  const evaluation = interpreter.evalCode(code, 'bundle.js', EvalFlags.TYPE_MODULE);
  interpreter.executePendingJobs();
  if (evaluation.promiseState !== FULFILLED) throw new Error('the bundle failed, or waits');
  return interpreter.evalCode(`globalThis[${JSON.stringify(name)}]()`).toString();
}
