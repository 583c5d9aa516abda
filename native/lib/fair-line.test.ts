// The unit tests of the order of texts in native/test/embedding.
import { runProgramTests } from './fixtures/test-program.ts';

runProgramTests('the order of texts', 'aana-embedding-test');
