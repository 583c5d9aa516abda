export { assignedGpus, GPU_DEVICES_VARIABLE } from './assigned-gpus.ts';
export type * from './binding/index.ts';
export { ggufHeader, ggufPadding, ggufPair, type GgufTensorEntry } from './gguf.ts';
export { loadNative, manifestPath, nativeAddonPath, type LoadNativeOptions, type NativeManifest } from './load.ts';
