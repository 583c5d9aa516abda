import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LANGUAGE_NAMES } from '../transcripts/language-names.ts';
import { WHISPER_LANGUAGES } from './whisper-languages.ts';

const Languages = suite('languages of Whisper');

Languages('have a name for transcripts, each', () => {
  assert.equal([...LANGUAGE_NAMES.keys()].sort(), [...WHISPER_LANGUAGES].sort());
  assert.is(LANGUAGE_NAMES.get('ht'), 'haitian creole');
});

Languages.run();
