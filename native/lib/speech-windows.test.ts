// The unit tests of long audio in native/test/speech.
import { runProgramTests } from './fixtures/test-program.ts';

runProgramTests('long audio', 'aana-speech-test');
