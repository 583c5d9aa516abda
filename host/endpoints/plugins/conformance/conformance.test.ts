import { typescriptGuest } from '../fixtures/conformance/guest.ts';
import { conformance } from '../fixtures/conformance-suite.ts';

conformance(typescriptGuest);
