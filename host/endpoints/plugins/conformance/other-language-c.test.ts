import { cCapabilities, cGuest } from '../fixtures/c/guest.ts';
import { capabilitiesConformance } from '../fixtures/capabilities-suite.ts';
import { conformance } from '../fixtures/conformance-suite.ts';

conformance(cGuest);
capabilitiesConformance(cCapabilities);
