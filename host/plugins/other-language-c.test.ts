import { cGuest } from './fixtures/c/guest.ts';
import { conformance } from './fixtures/conformance-suite.ts';

conformance('blocking', cGuest);
conformance('suspending', cGuest);
