/**
 * Time of choosing one token with our sampler and with llama.cpp's chain, over the same logits, as JSON on standard
 * output.
 *
 *   npm run build && npx aana-host build-native
 *   node native/bench/sampling.mjs [rounds] > result.json
 */
import { reportProgram } from './program-report.mjs';

reportProgram('aana-sampling-bench');
