/**
 * Time of choosing the tokens of a step for 1, 8 and 32 sequences with a large vocabulary, on one thread and on
 * several, as JSON on standard output.
 *
 *   npm run build && npx aana-host build-native
 *   node native/bench/sampling-step.mjs [steps] [threads] > result.json
 */
import { reportProgram } from './program-report.mjs';

reportProgram('aana-sampling-step-bench');
