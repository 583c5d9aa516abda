import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LANGUAGE_NAMES } from './language-names.ts';
import { whisperLanguage } from './whisper-language.ts';

const Languages = suite('languages of Whisper');

Languages('have a code for every spelling that clients send', () => {
  const spellings: Readonly<Record<string, readonly string[]>> = {
    en: ['en', 'EN', ' en\n', 'english', 'English', 'en-US', 'en_GB', 'EN-us', 'eng'],
    zh: ['zh', 'zh-Hans-CN', 'mandarin', 'Chinese', 'zho', 'cmn'],
    de: ['German', 'deu', 'ger', 'de-AT'],
    ht: ['haitian creole', 'Haitian'],
    no: ['no', 'nb', 'nb-NO'],
    jw: ['jw', 'jv', 'javanese'],
    tl: ['fil', 'tl', 'Tagalog'],
    he: ['he', 'iw'],
    pt: ['pt-BR', 'por'],
  };
  for (const [code, texts] of Object.entries(spellings))
    for (const text of texts) assert.is(whisperLanguage(text), code, text);
  for (const [code, name] of LANGUAGE_NAMES) {
    assert.is(whisperLanguage(code.toUpperCase()), code);
    assert.is(whisperLanguage(name.toUpperCase()), code);
  }
});

Languages('are found in the speech where none is named', () => {
  for (const text of ['', '  ', 'auto', 'AUTO']) assert.is(whisperLanguage(text), undefined);
  for (const text of ['klingon', 'xx', '-', 'en en', '🙂', 'e'.repeat(10_000), '__proto__'])
    assert.is(whisperLanguage(text), null, text);
});

Languages.run();
