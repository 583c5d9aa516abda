import { conformance } from './fixtures/conformance-suite.ts';
import { rustGuest } from './fixtures/rust/guest.ts';

conformance('blocking', rustGuest);
conformance('suspending', rustGuest);
