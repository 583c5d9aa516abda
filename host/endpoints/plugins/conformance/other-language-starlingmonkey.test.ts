import { conformance } from '../fixtures/conformance-suite.ts';
import { starlingMonkeyGuest } from '../fixtures/starlingmonkey/guest.ts';

conformance(starlingMonkeyGuest);
