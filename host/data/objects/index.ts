export { FolderStore } from './folder-store.ts';
export { type LocalCopy, LostObject, type ObjectStore, type StoredObject } from './object-store.ts';
export { type ObjectStoreConfig, openBucket, openStore } from './open-store.ts';
export { RowObjects } from './row-objects.ts';
