import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isSecret, newSecret } from './secrets.ts';

const Secrets = suite('secrets of webhooks');

Secrets('are valid when they are new, plain, or valid base64 after whsec_', () => {
  assert.equal(
    [
      newSecret(),
      'plain',
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      'whsec_',
      'whsec_short',
      'whsec_MfKQ9r8GKYqrTwjUPD8I LPZ',
    ].map(isSecret),
    [true, true, true, false, false, false],
  );
  assert.is.not(newSecret(), newSecret());
});

Secrets.run();
