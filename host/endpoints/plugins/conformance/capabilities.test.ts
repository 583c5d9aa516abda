import { capabilitiesConformance, typescriptCapabilities } from '../fixtures/capabilities-suite.ts';

capabilitiesConformance(typescriptCapabilities);
