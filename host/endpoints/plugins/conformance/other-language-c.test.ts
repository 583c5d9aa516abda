import { cCapabilities, cGuest } from '../fixtures/c/guest.ts';
import { capabilitiesConformance } from '../fixtures/capabilities-suite.ts';
import { conformance } from '../fixtures/conformance-suite.ts';

conformance('blocking', cGuest);
conformance('suspending', cGuest);
capabilitiesConformance('blocking', cCapabilities);
capabilitiesConformance('suspending', cCapabilities);
