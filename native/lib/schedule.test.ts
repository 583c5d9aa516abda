// The unit tests of scheduling in native/test/schedule.
import { runProgramTests } from './fixtures/test-program.ts';

runProgramTests('scheduling', 'aana-schedule-test');
