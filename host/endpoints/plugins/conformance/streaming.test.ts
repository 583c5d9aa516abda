import { streaming } from '../fixtures/streaming-suite.ts';

streaming();
