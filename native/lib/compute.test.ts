// The unit tests of the kernels in native/test/compute and native/test/matrix.
import { runProgramTests } from './fixtures/test-program.ts';

runProgramTests('kernels', 'aana-compute-test');
runProgramTests('packed matrices and attention', 'aana-matrix-test');
