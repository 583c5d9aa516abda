// The unit tests of sampling and grammars in native/test/sampling.
import { runProgramTests } from './fixtures/test-program.ts';

runProgramTests('sampling', 'aana-sampling-test');
