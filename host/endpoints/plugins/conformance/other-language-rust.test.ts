import { capabilitiesConformance } from '../fixtures/capabilities-suite.ts';
import { conformance } from '../fixtures/conformance-suite.ts';
import { rustCapabilities, rustGuest } from '../fixtures/rust/guest.ts';

conformance(rustGuest);
capabilitiesConformance(rustCapabilities);
