// The unit tests of the kernels in native/test/compute.
import { runProgramTests } from './fixtures/test-program.ts';

runProgramTests('kernels', 'aana-compute-test');
