// The unit tests of Whisper's search in native/test/search.
import { runProgramTests } from './fixtures/test-program.ts';

runProgramTests('the search of Whisper', 'aana-search-test');
