export { findMachine } from './find-machine.ts';
export type { Machine, MemoryProbe } from './machine.ts';
export { deviceName, placementEnvironment, placementText } from './placement-environment.ts';
export { type DeviceUse, type Placement, PlacementLedger } from './placement-ledger.ts';
export { hasEngineKernels } from './processor.ts';
