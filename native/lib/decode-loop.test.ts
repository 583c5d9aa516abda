// The tests of the decode loop in native/test/loop.
import { runProgramTests } from './fixtures/test-program.ts';

runProgramTests('the decode loop', 'aana-loop-test');
